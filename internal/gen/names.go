package gen

import (
	"math/rand/v2"
	"strconv"
)

// namer makes names of functions. Neighbours are methods of the same class, as
// they are in a compiled program, so they have long prefixes in common.
type namer struct {
	rng    *rand.Rand
	module int
	serial uint64 // makes each name unique
	scope  []byte // class or type, with all it is nested in
	left   int    // functions still to come in scope
	name   []byte
}

func newNamer(rng *rand.Rand) *namer { return &namer{rng: rng} }

// enter starts the names of a module. Odd modules are of Go code, even ones of
// C++.
func (n *namer) enter(module int) { n.module, n.left = module, 0 }

func (n *namer) isGo() bool { return n.module%2 == 1 }

func (n *namer) next() string {
	if n.left == 0 {
		n.left = 1 + n.rng.IntN(24)
		if n.isGo() {
			n.goScope()
		} else {
			n.cppScope()
		}
	}
	n.left--
	n.serial++
	n.name = append(n.name[:0], n.scope...)
	if n.isGo() {
		n.goMethod()
	} else {
		n.cppMethod()
	}
	return string(n.name)
}

// goScope is a package and a type: example.com/engine/alloc/mesh.(*BufferPool).
func (n *namer) goScope() {
	b := append(n.scope[:0], "example.com/engine/"...)
	b = append(b, words[n.module%len(words)]...)
	for range 1 + n.rng.IntN(3) {
		b = append(append(b, '/'), n.word()...)
	}
	b = n.title(append(b, ".(*"...))
	b = n.title(b)
	n.scope = append(b, ")."...)
}

// goMethod is a method, or a function in one: UpdateLight421.func2.1
func (n *namer) goMethod() {
	n.name = n.title(appendTitle(n.name, n.verb()))
	n.name = strconv.AppendUint(n.name, n.serial, 10)
	for range n.rng.IntN(4) / 2 {
		n.name = strconv.AppendUint(append(n.name, ".func"...), 1+n.rng.Uint64N(9), 10)
	}
}

// cppScope is a class in its namespaces: engine::alloc::MeshPool<core::Name>::
func (n *namer) cppScope() {
	b := append(n.scope[:0], "engine::"...)
	b = append(b, words[n.module%len(words)]...)
	for range n.rng.IntN(3) {
		b = append(append(b, "::"...), n.word()...)
	}
	b = n.title(append(b, "::"...))
	b = n.title(b)
	if n.rng.IntN(4) == 0 {
		b = append(n.cppType(append(b, '<')), '>')
	}
	n.scope = append(b, "::"...)
}

// cppMethod is a method with its parameters: updateLight421(core::Mesh const&)
func (n *namer) cppMethod() {
	b := n.title(append(n.name, n.verb()...))
	b = strconv.AppendUint(b, n.serial, 10)
	b = append(b, '(')
	for i := range n.rng.IntN(4) {
		short := len(b)
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(n.cppType(b), " const&"...)
		if len(b) >= MaxName {
			b = b[:short]
			break
		}
	}
	n.name = append(b, ')')
}

func (n *namer) cppType(b []byte) []byte {
	b = append(append(b, n.word()...), "::"...)
	return n.title(b)
}

func (n *namer) word() string { return words[n.rng.IntN(len(words))] }

func (n *namer) verb() string { return verbs[n.rng.IntN(len(verbs))] }

// title appends any word, with a capital letter.
func (n *namer) title(b []byte) []byte { return appendTitle(b, n.word()) }

func appendTitle(b []byte, word string) []byte {
	return append(append(b, word[0]-'a'+'A'), word[1:]...)
}

var verbs = [...]string{
	"add", "apply", "begin", "bind", "build", "clear", "commit", "create", "decode", "destroy", "draw",
	"encode", "erase", "find", "flush", "get", "insert", "load", "lock", "merge", "next", "open", "parse",
	"push", "read", "release", "reserve", "resolve", "set", "sort", "update", "visit", "write",
}

var words = [...]string{
	"alloc", "anim", "archive", "asset", "atlas", "audio", "bone", "buffer", "cache", "camera", "chunk",
	"cluster", "codec", "cone", "core", "curve", "decal", "device", "draw", "effect", "entity", "event",
	"fence", "field", "frame", "frustum", "glyph", "graph", "grid", "group", "handle", "heap", "index",
	"input", "island", "joint", "kernel", "layer", "light", "linker", "mesh", "mixer", "morph", "network",
	"node", "object", "octree", "packet", "particle", "pass", "path", "physics", "pipeline", "pool",
	"portal", "probe", "queue", "render", "replica", "sampler", "scene", "script", "shader", "shadow",
	"skin", "socket", "solver", "stream", "surface", "table", "task", "terrain", "texture", "timer",
	"token", "track", "tree", "vertex", "view", "volume", "voxel", "widget", "worker", "world",
}
