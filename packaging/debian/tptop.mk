# tptop, for millrace-tools: built beside whatever Debian's rules build, with the system's
# libmariadb. ./build.sh deb puts its sources below debian/millrace, and includes this in debian/rules.
override_dh_auto_build: build-tptop

# The flags are in the environment, by Debian's rules.
build-tptop:
	$(MAKE) -C debian/millrace/tptop OUT=$(CURDIR)/debian/millrace/tptop/bin all

.PHONY: build-tptop
