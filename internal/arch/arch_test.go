// Package arch holds the shape of the module: who may import whom, where unsafe
// may be, what every exported name owes its reader. It has tests only.
package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "example.com/tracecache"

// layer is what the files of a package, its tests aside, may import besides the
// standard library.
type layer struct {
	own     []string // packages of this module
	foreign []string // modules or packages of others, by prefix
}

// anything stands for every package, of this module or of others.
var anything = []string{""}

// layers has every package of the module. A package below those named by a
// trailing slash is one of them. The order is that of the layers: a package
// imports only what stands above it.
var layers = []struct {
	pkg string
	layer
}{
	{"pod", layer{}},
	{"trace", layer{}},
	{"internal/view", layer{}},
	{"internal/parallel", layer{}},
	{"internal/replace", layer{foreign: []string{"golang.org/x/sys/"}}},
	{"internal/index", layer{own: []string{"internal/parallel", "internal/view"}}},
	{"internal/bounds", layer{own: []string{"internal/index"}}},
	{"internal/oodle", layer{own: []string{"pod"}}},
	{"internal/codec", layer{
		own:     []string{"pod", "internal/oodle"},
		foreign: []string{"github.com/klauspost/compress/", "github.com/pierrec/lz4/"},
	}},
	{"internal/container", layer{
		own:     []string{"pod", "internal/codec"},
		foreign: []string{"github.com/zeebo/blake3"},
	}},
	{"mapped", layer{
		own:     []string{"pod"},
		foreign: []string{"golang.org/x/exp/mmap", "golang.org/x/sys/"},
	}},
	{"lazy", layer{
		own:     []string{"mapped", "pod", "trace", "internal/bounds", "internal/container", "internal/index", "internal/parallel", "internal/replace", "internal/view"},
		foreign: []string{"github.com/fsnotify/fsnotify", "github.com/gofrs/flock"},
	}},
	{"writer", layer{
		own:     []string{"pod", "trace", "internal/container", "internal/view", "internal/codec", "internal/replace"},
		foreign: []string{"github.com/gofrs/flock"},
	}},
	{"convert/", layer{
		own:     []string{"pod", "trace", "internal/bounds", "internal/view", "internal/codec", "internal/container", "mapped", "lazy", "writer", "convert"},
		foreign: anything,
	}},
	{"cmd/", layer{own: anything, foreign: anything}},
	{"bench/", layer{own: anything, foreign: anything}},
	{"internal/gen", layer{own: []string{"trace"}}}, // for tests and benchmarks
	{"internal/arch", layer{}},                      // tests only
	{"internal/foreign", layer{}},                   // tests only
}

func layerOf(pkg string) (int, bool) {
	for i, l := range layers {
		if l.pkg == pkg || strings.HasSuffix(l.pkg, "/") && strings.HasPrefix(pkg+"/", l.pkg) {
			return i, true
		}
	}
	return 0, false
}

func TestLayers(t *testing.T) {
	for _, f := range parse(t) {
		i, ok := layerOf(f.pkg)
		if !assert.True(t, ok, "%s: package %s has no place in the layers", f.path, f.pkg) || f.test {
			continue
		}
		l := layers[i]
		for _, path := range f.imports() {
			own, isOwn := strings.CutPrefix(path, module+"/")
			switch {
			case isOwn:
				assert.True(t, slices.Contains(l.own, own) || slices.Equal(l.own, anything),
					"%s: %s may not import %s", f.path, f.pkg, own)
			case standard(path):
			default:
				assert.True(t, slices.ContainsFunc(l.foreign, func(p string) bool { return strings.HasPrefix(path, p) }),
					"%s: %s may not import %s", f.path, f.pkg, path)
			}
		}
	}
}

// The table itself is layered: what a package may import stands above it.
func TestLayersAreLayers(t *testing.T) {
	for i, l := range layers {
		if slices.Equal(l.own, anything) {
			continue
		}
		for _, own := range l.own {
			at, ok := layerOf(own)
			require.True(t, ok, own)
			assert.True(t, at < i || strings.TrimSuffix(l.pkg, "/") == own, "%s above %s", own, l.pkg)
		}
	}
}

// The reader and the writer know each other in external tests only, so that
// nothing of the one leans on the inside of the other.
func TestReaderAndWriterMeetInPodOnly(t *testing.T) {
	apart := map[string][]string{"lazy": {"writer"}, "mapped": {"writer"}, "writer": {"lazy", "mapped"}}
	for _, f := range parse(t) {
		if strings.HasSuffix(f.ast.Name.Name, "_test") {
			continue
		}
		for _, other := range apart[f.pkg] {
			assert.NotContains(t, f.imports(), module+"/"+other, f.path)
		}
	}
}

// Pointers are converted in internal/view. pod asserts sizes at compile time and
// does no more.
func TestUnsafeIsConfined(t *testing.T) {
	for _, f := range parse(t) {
		imports := f.imports()
		assert.NotContains(t, imports, "C", "%s: cgo", f.path)
		for _, c := range f.ast.Comments {
			for _, line := range c.List {
				assert.False(t, strings.HasPrefix(line.Text, "//go:linkname"), "%s: %s", f.path, line.Text)
			}
		}
		if f.pkg == "internal/view" || !slices.Contains(imports, "unsafe") {
			continue
		}
		if !assert.True(t, f.pkg == "pod" && !f.test, "%s imports unsafe", f.path) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "unsafe" {
					assert.Contains(t, []string{"Sizeof", "Offsetof", "Alignof"}, sel.Sel.Name, f.path)
				}
			}
			return true
		})
	}
}

// Nothing happens because a package is imported: codecs and importers are fixed
// tables.
func TestNoInit(t *testing.T) {
	for _, f := range parse(t) {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && !f.test {
				assert.NotEqual(t, "init", fn.Name.Name, f.path)
			}
		}
	}
}

func TestEveryExportedNameHasADoc(t *testing.T) {
	documented := map[string]bool{} // packages, by directory
	files := parse(t)
	for _, f := range files {
		if f.ast.Doc != nil {
			documented[f.pkg] = true
		}
		if f.test || f.ast.Name.Name == "main" {
			continue
		}
		for _, d := range f.ast.Decls {
			for _, name := range f.undocumented(d) {
				t.Errorf("%s: %s has no doc comment", f.path, name)
			}
		}
	}
	for _, f := range files {
		assert.True(t, documented[f.pkg], "package %s has no comment", f.pkg)
	}
}

// undocumented are the exported names of a declaration without a comment: their
// own, that of their group, or that of the line right above in the group.
func (f file) undocumented(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d))) {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		covered := 0 // the line that a comment covers
		for _, s := range d.Specs {
			var doc bool
			var idents []*ast.Ident
			switch s := s.(type) {
			case *ast.TypeSpec:
				doc, idents = s.Doc != nil, []*ast.Ident{s.Name}
			case *ast.ValueSpec:
				doc, idents = s.Doc != nil || s.Comment != nil || f.line(s.Pos()) == covered, s.Names
			}
			if doc {
				covered = f.line(s.End()) + 1
			}
			for _, n := range idents {
				if n.IsExported() && !doc && d.Doc == nil {
					names = append(names, n.Name)
				}
			}
		}
	}
	return names
}

// receiver is the type name of a method's receiver.
func receiver(fn *ast.FuncDecl) string {
	x := fn.Recv.List[0].Type
	for {
		switch t := x.(type) {
		case *ast.StarExpr:
			x = t.X
		case *ast.IndexExpr:
			x = t.X
		case *ast.IndexListExpr:
			x = t.X
		case *ast.Ident:
			return t.Name
		default:
			panic(fmt.Sprintf("receiver of type %T", x))
		}
	}
}

// standard reports whether an import path is of the standard library, whose
// first element has no dot.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// imports are the paths that a file imports.
func (f file) imports() (paths []string) {
	for _, d := range f.ast.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			continue
		}
		for _, s := range g.Specs {
			path, err := strconv.Unquote(s.(*ast.ImportSpec).Path.Value)
			if err == nil {
				paths = append(paths, path)
			}
		}
	}
	return paths
}
