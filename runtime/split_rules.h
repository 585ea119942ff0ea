// The splitting rules of known model families, as their tokenizer.json files have them.

#ifndef RUNTIME_SPLIT_RULES_H
#define RUNTIME_SPLIT_RULES_H

// GPT-2's words, which the pre-tokenizer "ByteLevel" stands for.
#define RT_WORDS_GPT2                                                                              \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

// The words of Llama 3, Qwen 2, Mistral's Tekken and GPT-4o.
#define RT_WORDS_LLAMA3                                                                            \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"                      \
    " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define RT_WORDS_QWEN2                                                                             \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"                           \
    " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define RT_WORDS_UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define RT_WORDS_LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define RT_WORDS_TEKKEN                                                                            \
    "[^\\r\\n\\p{L}\\p{N}]?" RT_WORDS_UPPER "*" RT_WORDS_LOWER                                     \
    "+|[^\\r\\n\\p{L}\\p{N}]?" RT_WORDS_UPPER "+" RT_WORDS_LOWER                                   \
    "*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define RT_WORDS_SHORT "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
#define RT_WORDS_GPT4O                                                                             \
    "[^\\r\\n\\p{L}\\p{N}]?" RT_WORDS_UPPER "*" RT_WORDS_LOWER "+" RT_WORDS_SHORT                  \
    "|[^\\r\\n\\p{L}\\p{N}]?" RT_WORDS_UPPER "+" RT_WORDS_LOWER "*" RT_WORDS_SHORT                 \
    "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

#endif
