# pipersim: `make demo` and `make check` do everything on a fresh Debian machine; `make help` lists
# the rest. CC, CFLAGS, CPPFLAGS, LDFLAGS, prefix and DESTDIR are honoured.

VERSION := $(shell cat VERSION)
CC ?= gcc
CFLAGS ?= -O2 -g
prefix ?= /usr/local
bindir ?= $(prefix)/bin
datadir ?= $(prefix)/share
DESTDIR ?=
BUILD ?= release

VARIANTS := release debug sanitize coverage clang

PACKAGES := glib-2.0 json-glib-1.0 gsl cairo pangocairo
DEBIAN_PACKAGES := gcc libc6-dev make pkg-config libglib2.0-dev libcsv-dev \
    libjson-glib-dev libgsl-dev libcairo2-dev libpango1.0-dev check fonts-dejavu-core

# ---- flags ------------------------------------------------------------------------------------
# No contraction: gcc and clang must give the same bytes.
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
    -Wformat=2 -Wvla -Wno-missing-field-initializers
pkg = $(shell pkg-config $(1) $(2) 2>/dev/null)
BASE_CFLAGS := -std=c17 $(WARNINGS) -ffp-contract=off -MMD -MP
BASE_CPPFLAGS := -I. -D_GNU_SOURCE -DPS_VERSION='"$(VERSION)"' -DG_LOG_USE_STRUCTURED \
    $(call pkg,--cflags,$(PACKAGES))
BASE_LIBS := $(call pkg,--libs,$(PACKAGES)) -lcsv -lm
CHECK_CFLAGS := $(call pkg,--cflags,check)
CHECK_LIBS := $(call pkg,--libs,check)

SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
release_CC = $(CC)
debug_CC = $(CC)
sanitize_CC = $(CC)
coverage_CC = $(CC)
clang_CC = clang
release_CFLAGS = $(CFLAGS)
clang_CFLAGS = $(CFLAGS)
debug_CFLAGS = -O0 -g3
sanitize_CFLAGS = -O1 -g $(SANITIZE)
coverage_CFLAGS = -O0 -g --coverage
sanitize_LDFLAGS = $(SANITIZE)
coverage_LDFLAGS = --coverage

# ---- sources ----------------------------------------------------------------------------------
SOURCES := $(sort $(wildcard sim/*/*.c planner/*.c planner/*/*.c plots/*.c))
LIBRARY_SOURCES := $(filter-out sim/cli/main.c,$(SOURCES))
HARNESS_SOURCES := $(sort $(wildcard tests/harness/*.c tests/oracle/*.c))
TEST_SOURCES := $(sort $(wildcard tests/*/test-*.c))
BENCH_SOURCES := $(sort $(wildcard tests/bench/bench-*.c))

.PHONY: all help deps demo check run-tests structure same-bytes bench figures format install uninstall clean \
    $(VARIANTS) tests
.DEFAULT_GOAL := all
all: build/$(BUILD)/pipersim

# ---- one set of rules per variant, side by side under build/ ----------------------------------
define VARIANT_RULES
$(1): build/$(1)/pipersim
build/$(1)/pipersim: build/$(1)/sim/cli/main.o build/$(1)/libpipersim.a
	@echo "  LINK  $$@"
	@$$($(1)_CC) $$(LDFLAGS) $$($(1)_LDFLAGS) -o $$@ $$^ $$(BASE_LIBS)
build/$(1)/libpipersim.a: $(LIBRARY_SOURCES:%.c=build/$(1)/%.o)
	@rm -f $$@ && ar rcsD $$@ $$^
build/$(1)/libharness.a: $(HARNESS_SOURCES:%.c=build/$(1)/%.o)
	@rm -f $$@ && ar rcsD $$@ $$^
build/$(1)/tests/%: build/$(1)/tests/%.o build/$(1)/libharness.a build/$(1)/libpipersim.a
	@echo "  LINK  $$@"
	@$$($(1)_CC) $$(LDFLAGS) $$($(1)_LDFLAGS) -o $$@ $$^ $$(CHECK_LIBS) $$(BASE_LIBS)
build/$(1)/tests/%.o: tests/%.c | build/$(1)/flags
	@echo "  CC    $$<"
	@mkdir -p $$(@D)
	@$$($(1)_CC) $$(BASE_CPPFLAGS) $$(CPPFLAGS) $$(CHECK_CFLAGS) $$(BASE_CFLAGS) $$($(1)_CFLAGS) -c -o $$@ $$<
build/$(1)/%.o: %.c | build/$(1)/flags
	@echo "  CC    $$<"
	@mkdir -p $$(@D)
	@$$($(1)_CC) $$(BASE_CPPFLAGS) $$(CPPFLAGS) $$(BASE_CFLAGS) $$($(1)_CFLAGS) -c -o $$@ $$<
# A build with other flags or another compiler starts afresh.
build/$(1)/flags: FORCE
	@mkdir -p $$(@D)
	@pkg-config --exists $(PACKAGES) check || { \
	    echo "libraries are missing: run 'make deps'" >&2; exit 1; }
	@echo '$$($(1)_CC) $$(CPPFLAGS) $$($(1)_CFLAGS) $$(LDFLAGS) $$(VERSION)' > $$@.new
	@if cmp -s $$@ $$@.new; then rm $$@.new; else \
	    find build/$(1) -name '*.[ado]' -delete; mv $$@.new $$@; fi
-include $$(shell find build/$(1) -name '*.d' 2>/dev/null)
endef
.PHONY: FORCE
FORCE:
.SECONDARY:
$(foreach variant,$(VARIANTS),$(eval $(call VARIANT_RULES,$(variant))))

# ---- what people run --------------------------------------------------------------------------
help:
	@echo "make            build build/release/pipersim"
	@echo "make deps       install what is missing (as root; else print the command)"
	@echo "make demo       dependencies, build, then plan, replay, check and plot a GPT-3 model"
	@echo "make check      dependencies, build, then every test and the structure checks"
	@echo "make debug | sanitize | coverage | clang    other builds, side by side under build/"
	@echo "make check BUILD=sanitize           the tests in another build"
	@echo "make same-bytes every build under build/ gives the same bytes"
	@echo "make structure  include directions and registries"
	@echo "make bench      timings, as ratios, with growth"
	@echo "make figures    the data of Figures 1 and 2 of the Piper paper, under build/figures/"
	@echo "make format     clang-format on every source"
	@echo "make install | uninstall            honours prefix and DESTDIR"
	@echo "make clean      remove build/"

deps:
	@if pkg-config --exists $(PACKAGES) check 2>/dev/null && [ -e /usr/include/csv.h ] && \
	    command -v $(CC) >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y \
	        --no-install-recommends $(DEBIAN_PACKAGES); \
	else \
	    echo "missing libraries; as root: apt-get install $(DEBIAN_PACKAGES)" >&2; exit 1; \
	fi

check: deps
	@$(MAKE) --no-print-directory run-tests BUILD=$(BUILD)
	@$(MAKE) --no-print-directory structure

tests: build/$(BUILD)/pipersim $(TEST_SOURCES:%.c=build/$(BUILD)/%)
run-tests: tests
	@tests/run build/$(BUILD)

structure:
	@tests/structure

same-bytes:
	@tests/same-bytes

demo: deps
	@$(MAKE) --no-print-directory build/$(BUILD)/pipersim
	@tests/demo build/$(BUILD)/pipersim build/demo

bench: deps
	@$(MAKE) --no-print-directory build/release/pipersim $(BENCH_SOURCES:%.c=build/release/%)
	@tests/bench/run build/release

figures: deps
	@$(MAKE) --no-print-directory build/release/pipersim
	@tests/figures build/release/pipersim build/figures

format:
	@clang-format -i $$(git ls-files '*.c' '*.h')

install: build/release/pipersim
	install -d $(DESTDIR)$(bindir) $(DESTDIR)$(datadir)/pipersim/topologies \
	    $(DESTDIR)$(datadir)/pipersim/profiles
	install -m 755 build/release/pipersim $(DESTDIR)$(bindir)/pipersim
	install -m 644 topologies/*.topo $(DESTDIR)$(datadir)/pipersim/topologies/
	install -m 644 planner/profiles/*.json $(DESTDIR)$(datadir)/pipersim/profiles/
uninstall:
	rm -f $(DESTDIR)$(bindir)/pipersim
	rm -rf $(DESTDIR)$(datadir)/pipersim

clean:
	rm -rf build
