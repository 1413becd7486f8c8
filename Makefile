# darkroom: `make`, `make demo`, `make check`. `make help` lists the rest.
# Variants stand side by side: build/ (release), build/debug, build/asan, build/tsan.

VARIANT ?= release
PREFIX  ?= /usr/local
DESTDIR ?=
CUDA    ?= auto
Q       := $(if $(V),,@)

ifeq ($(VARIANT),release)
OUT := build
else
OUT := build/$(VARIANT)
endif

CC ?= cc
ifeq ($(origin CC),default)
CC := gcc
endif

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla \
        -Wundef -Wformat=2 -Werror=format-security -Wimplicit-fallthrough -Wwrite-strings
HARD := -fstack-protector-strong -fstack-clash-protection -fcf-protection=full \
        -ftrivial-auto-var-init=zero -fno-strict-aliasing -fno-delete-null-pointer-checks
FLAGS_release := -O2 -g -D_FORTIFY_SOURCE=3 $(HARD)
FLAGS_debug   := -O0 -g3
FLAGS_asan    := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
FLAGS_tsan    := -O1 -g -fsanitize=thread
LINK_release  := -pie -Wl,-z,relro,-z,now,-z,noexecstack
LINK_asan     := -fsanitize=address,undefined
LINK_tsan     := -fsanitize=thread

LIBS := -ljpeg -lspng -lwebpdemux -lwebp -lcrypto -ljansson -lyaml -lz -lzstd -lsnappy -llz4 \
        -lxxhash -lutf8proc -ldl -lpthread -lm

# -ffp-contract=off: a*b+c is two roundings on every machine unless the code says fmaf.
CFLAGS  ?=
CPPFLAGS = -Isrc -I$(OUT)/gen -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64
ALL_CFLAGS = -std=c11 -fPIE -ffp-contract=off -MMD -MP $(WARN) $(FLAGS_$(VARIANT)) $(CPPFLAGS) $(CFLAGS)
ALL_LDFLAGS = $(LINK_$(VARIANT)) $(LDFLAGS)

SRC := $(sort $(wildcard src/*/*.c src/*/*/*.c))
OBJ := $(SRC:src/%.c=$(OUT)/obj/%.o)
LIB := $(OUT)/libdarkroom.a
LIBOBJ := $(filter-out $(OUT)/obj/cmd/main.o,$(OBJ))

.PHONY: all
all: $(OUT)/darkroom

# Instruction sets are chosen at run time; only these files are compiled for them.
$(OUT)/obj/%_avx2.o: ISA := -mavx2 -mfma -mf16c
$(OUT)/obj/%_avx512.o: ISA := -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c -mprefer-vector-width=512

$(OUT)/obj/%.o: src/%.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(ISA) -c -o $@ $<

# Assets become C strings: src/page/style.css is included as "page/style.css.h".
$(OUT)/gen/%.h: src/% Makefile
	@mkdir -p $(@D)
	$(Q)sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' $< > $@
$(OUT)/obj/page/page.o build/fuzz/obj/page/page.o: $(OUT)/gen/page/style.css.h

$(LIB): $(LIBOBJ)
	@rm -f $@
	$(Q)ar rcs $@ $^

$(OUT)/darkroom: $(OUT)/obj/cmd/main.o $(LIB)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

# Tests: every tests/{unit,ops}/*.c is a program; tests/interop/*_tool.c are helpers that the
# Python tests drive.
TEST_SRC := $(sort $(wildcard tests/unit/*.c tests/ops/*.c))
TEST_BIN := $(TEST_SRC:tests/%.c=$(OUT)/tests/%)
TOOL_BIN := $(patsubst tests/%.c,$(OUT)/tests/%,$(sort $(wildcard tests/*/*_tool.c)))
BENCH_BIN := $(patsubst bench/%.c,$(OUT)/bench/%,$(sort $(wildcard bench/*.c)))

$(OUT)/tests/%: tests/%.c tests/test.h $(LIB) Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -Itests $(ALL_LDFLAGS) -o $@ $< $(LIB) $(LIBS)

$(OUT)/bench/%: bench/%.c $(LIB) Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -Itests $(ALL_LDFLAGS) -o $@ $< $(LIB) $(LIBS)

.PHONY: tests
tests: $(TEST_BIN) $(TOOL_BIN)

-include $(OBJ:.o=.d) $(TEST_BIN:=.d) $(TOOL_BIN:=.d) $(BENCH_BIN:=.d)

# Fuzzing: clang's libFuzzer. `make fuzz` runs each target for FUZZ_SECONDS; the replay of the
# committed corpus is part of .ci/run.
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BIN := $(FUZZ_SRC:tests/fuzz/%.c=build/fuzz/%)
FUZZ_SECONDS ?= 20
FUZZ_FLAGS := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
FUZZ_OBJ := $(patsubst src/%.c,build/fuzz/obj/%.o,$(filter-out src/cmd/main.c,$(SRC)))
build/fuzz/obj/%_avx2.o: ISA := -mavx2 -mfma -mf16c
build/fuzz/obj/%_avx512.o: ISA := -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c
build/fuzz/obj/%.o: src/%.c Makefile
	@mkdir -p $(@D)
	$(Q)clang -std=c11 -ffp-contract=off -MMD -MP $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -Isrc -Ibuild/gen -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 $(ISA) -c -o $@ $<
build/fuzz/libdarkroom.a: $(FUZZ_OBJ)
	@rm -f $@
	$(Q)ar rcs $@ $^
build/fuzz/%: tests/fuzz/%.c build/fuzz/libdarkroom.a
	$(Q)clang -std=c11 $(FUZZ_FLAGS) -fsanitize=fuzzer -Isrc -Itests -Ibuild/gen -o $@ $^ $(LIBS)
-include $(FUZZ_OBJ:.o=.d)

# ---- what people type ----
PYTHON := build/venv/bin/python
PEERS  := build/peers/bin/python

.PHONY: help deps demo check check-asan check-tsan check-fault check-peers fuzz fuzz-replay bench \
        lint format install uninstall clean man

help:
	@echo "make               build/darkroom            make check        all tests that need no peer"
	@echo "make demo          embed the demo pictures   make check-peers  against torch, open_clip, timm, polars ..."
	@echo "make deps          install what is missing   make check-asan   tests under AddressSanitizer and UBSan"
	@echo "make bench         ours beside the peers     make check-tsan   tests under ThreadSanitizer"
	@echo "make lint          format, layers, sizes     make check-fault  kill, full disk, failing calls: full loops"
	@echo "make fuzz          FUZZ_SECONDS per target   make install      DESTDIR, PREFIX"
	@echo "VARIANT=debug|asan|tsan  CC=gcc|clang  CUDA=auto|yes|no  V=1"

ifeq ($(CUDA),yes)
ifeq ($(shell command -v nvcc),)
$(error CUDA=yes, but there is no nvcc)
endif
$(error CUDA=yes: this version has no CUDA plug-in yet; use CUDA=auto or CUDA=no)
endif

deps:
	@tools/deps build check lint fuzz

# The first two commands of the README work on a fresh machine.
.PHONY: ready ready-check ready-peers ready-lint ready-fuzz
ready:
	@tools/deps build
ready-check:
	@tools/deps build check
ready-peers:
	@tools/deps build check peers
ready-lint:
	@tools/deps build lint
ready-fuzz:
	@tools/deps build fuzz

demo: ready
	@echo "building $(OUT)/darkroom (a minute or two the first time)"
	@$(MAKE) --no-print-directory all
	@tools/demo $(OUT)/darkroom

check: ready-check
	@$(MAKE) --no-print-directory all tests
	@tests/run $(OUT) $(PYTHON) unit tests/interop tests/cli tests/fault

check-asan: ready-check
	@$(MAKE) --no-print-directory VARIANT=asan all tests
	@tests/run build/asan $(PYTHON) unit tests/cli

check-tsan: ready-check
	@$(MAKE) --no-print-directory VARIANT=tsan all tests
	@TSAN_OPTIONS=halt_on_error=1 tests/run build/tsan $(PYTHON) unit tests/cli

check-fault: ready-check
	@$(MAKE) --no-print-directory all tests
	@DARKROOM_FULL=1 tests/run $(OUT) $(PYTHON) tests/fault

check-peers: ready-peers
	@$(MAKE) --no-print-directory all tests
	@tests/run $(OUT) $(PEERS) tests/peers

fuzz: ready-fuzz
	@$(MAKE) --no-print-directory $(FUZZ_BIN)
	@tools/fuzz $(FUZZ_SECONDS) $(FUZZ_BIN)

fuzz-replay: ready-fuzz
	@$(MAKE) --no-print-directory $(FUZZ_BIN)
	@tools/fuzz 0 $(FUZZ_BIN)

bench: ready-peers
	@$(MAKE) --no-print-directory all $(BENCH_BIN)
	@for b in bench/*.py; do echo "# $$b"; $(PEERS) $$b || exit 1; done

lint: ready-lint
	@tools/check-layers
	@tools/check-size
	@tools/check-style
	@clang-format --dry-run -Werror $(FORMATTED)
	@$(MAKE) --no-print-directory CC=clang VARIANT=debug OUT=build/clang CFLAGS=-Werror all tests
	@$(MAKE) --no-print-directory CC=gcc VARIANT=debug OUT=build/gcc CFLAGS=-Werror all tests
	@mkdir -p build/man && $(MAKE) --no-print-directory all man && mandoc -T lint -W error build/man/*.1
	@echo "lint: clean"

# Generated tables keep the shape their generator gave them.
FORMATTED = $(shell for f in src/*/*.[ch] src/*/*/*.[ch] tests/*/*.c tests/*.h bench/*.[ch]; do \
    head -n 1 $$f | grep -q generated || echo $$f; done)
format:
	clang-format -i $(FORMATTED)

VERBS = $(shell $(OUT)/darkroom help | sed -n 's/^  \([a-z]*\) .*/\1/p')
man: $(OUT)/darkroom
	@mkdir -p build/man
	@$(OUT)/darkroom help --man > build/man/darkroom.1
	@for v in $(VERBS); do $(OUT)/darkroom help --man $$v > build/man/darkroom-$$v.1; done

install: all man
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1 \
	    $(DESTDIR)$(PREFIX)/share/darkroom/models/tiny $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
	    $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	install -m 755 $(OUT)/darkroom $(DESTDIR)$(PREFIX)/bin/darkroom
	install -m 644 build/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 models/tiny/* $(DESTDIR)$(PREFIX)/share/darkroom/models/tiny/
	$(OUT)/darkroom help --completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/darkroom
	$(OUT)/darkroom help --completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_darkroom
	$(OUT)/darkroom help --completion fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/darkroom.fish

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/darkroom $(DESTDIR)$(PREFIX)/share/man/man1/darkroom*.1
	rm -f $(DESTDIR)$(PREFIX)/share/bash-completion/completions/darkroom
	rm -f $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_darkroom
	rm -f $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/darkroom.fish
	rm -rf $(DESTDIR)$(PREFIX)/share/darkroom

clean:
	rm -rf build
