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

LIBS := -ljpeg -lspng -lwebpdemux -lwebp -lgif -lcrypto -ljansson -lyaml -lz -lzstd -lsnappy -llz4 \
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
