" Vim syntax of Serin. Put it into ~/.vim/syntax, and into ~/.vim/ftdetect/serin.vim:
"     au BufRead,BufNewFile *.serin,*.linnet setfiletype serin
" The language server is `serin lsp`; the formatter is :%!serin fmt -
if exists("b:current_syntax")
    finish
endif

syn keyword serinItem module use pub crate self super as const type struct enum fn op kernel block
syn keyword serinItem entry param buffer state sub extern inference
syn keyword serinStatement let var return while for in static yield where
syn keyword serinConditional if else match
syn keyword serinConstant true false none some
syn keyword serinReserved async await effect unsafe macro trait impl derive rng mut ref device
syn keyword serinType bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 Tensor
syn keyword serinKind Dim Shape DType Numeric Integer Float
syn match serinBuiltin /\<\%(cast\|exp\|log\|sqrt\|rsqrt\|sin\|cos\)\ze\s*[<(]/
syn match serinBuiltin /\<\%(tanh\|abs\|shl\|shr\|select\|reshape\|broadcast_to\)\ze\s*[<(]/
syn match serinBuiltin /\<\%(permute\|concat\|iota\|fill\|cumsum\|load\|program_id\)\ze\s*[<(]/
syn match serinBuiltin /\<\%(min\|max\)\ze(/
syn match serinReduction /\<\%(sum\|prod\|max\|min\|any\|all\)\ze\%(<[^>]*>\)\?\[/
syn match serinContext /\<\%(grad\|grid\|warps\|stages\|store\)\ze(/
syn match serinContext /\<atomic_\%(add\|max\|min\)\ze(/
syn match serinDeclared /\%(\<\%(fn\|op\|kernel\|block\|entry\)\s\+\)\@<=\h\w*/
syn match serinDeclared /\%(\<\%(struct\|enum\|type\)\s\+\)\@<=\h\w*/
syn match serinNumber /\<\d[0-9_]*\%(\.\d[0-9_]*\)\?\%([eE][+-]\?\d[0-9_]*\)\?\>/
syn match serinNumber /\<\%(0x[0-9A-Fa-f_]\+\|0b[01_]\+\)\>/
syn match serinOperator /->\|=>\|\.\.\.\?\|[-+*\/%&|^!<>=?]/
syn match serinEscape /\\\%([nrt0\\"]\|u{\x\{1,6}}\)/ contained
syn region serinString start=/"/ skip=/\\./ end=/"\|$/ contains=serinEscape
syn keyword serinTodo TODO FIXME NOTE contained
syn match serinComment /\/\/.*/ contains=serinTodo,@Spell
syn region serinComment start=/\/\*/ end=/\*\// contains=serinComment,serinTodo,@Spell

hi def link serinItem Keyword
hi def link serinStatement Statement
hi def link serinConditional Conditional
hi def link serinConstant Constant
hi def link serinReserved Error
hi def link serinType Type
hi def link serinKind StorageClass
hi def link serinBuiltin Function
hi def link serinReduction Special
hi def link serinContext Special
hi def link serinDeclared Identifier
hi def link serinNumber Number
hi def link serinOperator Operator
hi def link serinEscape SpecialChar
hi def link serinString String
hi def link serinTodo Todo
hi def link serinComment Comment

setlocal commentstring=//\ %s expandtab shiftwidth=4 softtabstop=4 textwidth=100
let b:current_syntax = "serin"
