# make               builds build/serin
# make test          all tests (tools/test); make test SAN=1 under ASan and UBSan
# make bless T=...   accepts what a golden test prints now
# make check         layers and sizes (tools/layers)
# make fuzz          the fuzz targets (clang, libFuzzer), FUZZ_SECONDS each
# make install PREFIX=/usr/local
BUILD ?= build
CC ?= cc
PREFIX ?= /usr/local
WARN = -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wno-overlength-strings -Werror
ifdef SAN
OPT ?= -O1
override BUILD := $(BUILD)/san
SANFLAGS = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
OPT ?= -O2
GEN = $(BUILD)/gen
CFLAGS = -std=c11 -g $(OPT) -ffp-contract=off $(WARN) $(SANFLAGS)
CPPFLAGS = -D_GNU_SOURCE -Icompiler -I. -I$(GEN)
LDLIBS = -lcjson -lpcre2-8 -lutf8proc -lpthread -lm

SOURCES = $(sort $(wildcard compiler/*/*.c codegen/*.c runtime/*.c))
LEXERS = $(notdir $(wildcard compiler/*/*.re))
GENERATED = $(GEN)/grammar.c $(patsubst %.re,$(GEN)/%.c,$(LEXERS)) $(GEN)/embedded.c
EMBEDDED = $(sort $(wildcard stdlib/*.serin stdlib/*/*.serin stdlib/*/*/*.serin stdlib/*/*.bind) \
	$(wildcard runtime/*.h runtime/*.c runtime/program/*.[ch] spec/errors/*.serin spec/errors/*.toml))
OBJECTS = $(SOURCES:%.c=$(BUILD)/obj/%.o) $(GENERATED:$(GEN)/%.c=$(BUILD)/obj/gen/%.o)
LIBRARY = $(filter-out $(BUILD)/obj/compiler/cli/main.o,$(OBJECTS))
UNITS = $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(sort $(wildcard tests/unit/*_test.c)))
BENCHES = $(patsubst tools/bench/%.c,$(BUILD)/bench/%,$(wildcard tools/bench/*.c))
FUZZERS = $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(sort $(wildcard tests/fuzz/*_fuzz.c)))
FUZZ_SECONDS ?= 60

all: $(BUILD)/serin

$(BUILD)/serin: $(OBJECTS)
	$(CC) $(CFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/obj/%.o: %.c | $(GENERATED)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# Lemon's and re2c's output is warning-free but for names their templates do not use.
$(BUILD)/obj/gen/%.o: $(GEN)/%.c | $(GENERATED)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -Wno-unused-variable -Wno-unused-parameter -MMD -MP -c -o $@ $<

$(GEN)/grammar.c: compiler/syntax/grammar.y
	@mkdir -p $(@D)
	lemon -q -l -d$(@D) $<

$(GEN)/grammar.h: $(GEN)/grammar.c
	@touch $@

vpath %.re $(sort $(dir $(wildcard compiler/*/*.re)))
$(GEN)/%.c: %.re $(GEN)/grammar.h
	re2c -W -i --no-generation-date -o $@ $<

$(BUILD)/embed: tools/embed.c
	@mkdir -p $(@D)
	$(CC) -std=c11 -O1 $(WARN) -o $@ $<

$(GEN)/embedded.c: $(BUILD)/embed $(EMBEDDED)
	@mkdir -p $(@D)
	$(BUILD)/embed $(EMBEDDED) > $@.new && mv $@.new $@

# An archive, so that a test takes only the objects it uses.
$(BUILD)/serin.a: $(LIBRARY)
	rm -f $@ && ar rcs $@ $^

$(BUILD)/unit/%: tests/unit/%.c $(BUILD)/serin.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -o $@ $< $(BUILD)/serin.a $(LDLIBS)

$(BUILD)/bench/%: tools/bench/%.c $(BUILD)/serin.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -o $@ $< $(BUILD)/serin.a $(LDLIBS)

units: $(UNITS) $(BENCHES)

test: $(BUILD)/serin units
	BUILD=$(BUILD) tools/test

bless: $(BUILD)/serin
	BUILD=$(BUILD) tools/test --bless $(T)

check:
	tools/layers

# The fuzz targets share objects that clang instruments.
FUZZ_OBJECTS = $(LIBRARY:$(BUILD)/obj/%=$(BUILD)/fuzz/obj/%)
FUZZ_FLAGS = -std=c11 -g -O1 -ffp-contract=off -fsanitize=address,undefined \
	-fno-sanitize-recover=undefined

$(BUILD)/fuzz/obj/%.o: %.c | $(GENERATED)
	@mkdir -p $(@D)
	clang $(CPPFLAGS) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

$(BUILD)/fuzz/obj/gen/%.o: $(GEN)/%.c | $(GENERATED)
	@mkdir -p $(@D)
	clang $(CPPFLAGS) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

$(BUILD)/fuzz/serin.a: $(FUZZ_OBJECTS)
	rm -f $@ && ar rcs $@ $^

$(BUILD)/fuzz/%: tests/fuzz/%.c $(BUILD)/fuzz/serin.a
	@mkdir -p $(@D)
	clang $(CPPFLAGS) $(FUZZ_FLAGS) -fsanitize=fuzzer -MMD -MP -o $@ $< $(BUILD)/fuzz/serin.a \
		$(LDLIBS)

fuzz: $(FUZZERS)
	BUILD=$(BUILD) FUZZ_SECONDS=$(FUZZ_SECONDS) tools/fuzz

install: $(BUILD)/serin
	install -d "$(DESTDIR)$(PREFIX)/bin"
	install -m 755 $(BUILD)/serin "$(DESTDIR)$(PREFIX)/bin/serin"

clean:
	rm -rf $(BUILD)

.PHONY: all units test bless check fuzz install clean
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
