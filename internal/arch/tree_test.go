package arch

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../.."

// file is one Go file of the module.
type file struct {
	path string // from the module's root, with slashes
	pkg  string // its directory
	test bool
	ast  *ast.File
	fset *token.FileSet
}

func (f file) line(p token.Pos) int { return f.fset.Position(p).Line }

// parse is every Go file of the module, whatever its build constraints.
func parse(t *testing.T) (files []file) {
	t.Helper()
	fset := token.NewFileSet()
	walk(t, func(name string) {
		if !strings.HasSuffix(name, ".go") || strings.Contains("/"+name, "/testdata/") {
			return
		}
		f, err := parser.ParseFile(fset, filepath.Join(root, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, file{path: name, pkg: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), ast: f, fset: fset})
	})
	require.Greater(t, len(files), 20, "the tree is elsewhere")
	return files
}

// walk visits the files of the tree, by their path from its root with slashes,
// but for hidden folders and what git is told to ignore.
func walk(t *testing.T, visit func(name string)) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	require.NoError(t, err)
	ignored := strings.Fields(string(b))
	tree := os.DirFS(root)
	require.NoError(t, fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") && d.Name() != "." && d.Name() != ".ci"
		if d.IsDir() && hidden {
			return fs.SkipDir
		}
		for _, pattern := range ignored {
			whole, anchored := strings.CutPrefix(pattern, "/")
			if anchored && whole == name {
				return nil
			}
			if ok, err := path.Match(pattern, d.Name()); ok || err != nil {
				return err
			}
		}
		if d.Type().IsRegular() {
			visit(name)
		}
		return nil
	}))
}

// No file knows where it was made: neither this checkout's folder nor the home
// of whoever made it occurs in one, binaries included.
func TestNoMachinePaths(t *testing.T) {
	here, err := filepath.Abs(root)
	require.NoError(t, err)
	paths := []string{here + string(filepath.Separator)}
	if home, err := os.UserHomeDir(); err == nil && len(home) > 1 {
		paths = append(paths, home+string(filepath.Separator))
	}
	walk(t, func(name string) {
		b, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		for _, p := range paths {
			assert.False(t, bytes.Contains(b, []byte(p)), "%s names %s", name, p)
		}
	})
}
