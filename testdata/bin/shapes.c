/* Functions of every shape that symbol tables have, without a C library. */
#define NOINLINE __attribute__((noinline))

static NOINLINE int hidden(int n) { return n * n + 1; }
NOINLINE int visible(int n) { return hidden(n) + hidden(n + 1); }
__attribute__((weak)) NOINLINE int weak(int n) { return n ^ 5; }
__attribute__((cold)) NOINLINE int cold(int n) { return n - 7; }
int many(int n) {
	switch (n) {
	case 0: return visible(n);
	case 1: return weak(n);
	case 2: return cold(n);
	case 3: return n << 3;
	default: return many(n - 4) + n;
	}
}

#ifdef __ELF__
int alias(int n) __attribute__((alias("visible")));
static int (*pick(void))(int) { return hidden; }
int chosen(int n) __attribute__((ifunc("pick")));
int call(int n) { return chosen(n) + alias(n); }

/* A function in a function, one without a size, and labels. */
__asm__(
	".text\n.p2align 4\n"
	".globl outer\n.type outer,@function\nouter:\n nop\n nop\n"
	".type inner,@function\ninner:\n nop\n nop\n nop\n.size inner,.-inner\n"
	"label_in_outer:\n nop\n ret\n.size outer,.-outer\n"
	".p2align 4\n.globl unsized\n.type unsized,@function\nunsized:\n nop\n ret\n"
	".p2align 4\n.globl untyped\nuntyped:\n nop\n ret\n"
	".p2align 4\n.globl last\n.type last,@function\nlast:\n ret\n.size last,.-last\n"
	".p2align 5,0xcc\n");
#else
int call(int n) { return visible(n); }
#endif

#ifdef START
void _start(void) {
	many(5);
	call(6);
	for (;;)
		;
}
#endif
