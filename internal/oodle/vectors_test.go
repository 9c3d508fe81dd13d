package oodle_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sharedVectors is where the whole collections are, of which testdata has a part.
const sharedVectors = "../../../shared/vectors"

// vector is a block and what it decodes to.
type vector struct {
	name, features string
	raw, block     []byte
}

// readVectors reads the vectors that the index.tsv of a folder lists. Without the
// folder there are none.
func readVectors(t testing.TB, dir string) []vector {
	t.Helper()
	index, err := os.ReadFile(filepath.Join(dir, "index.tsv"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(index)), "\n")
	vectors := make([]vector, 0, len(lines))
	for _, line := range lines[1:] {
		v, err := readVector(dir, strings.Split(line, "\t"))
		require.NoError(t, err, line)
		vectors = append(vectors, v)
	}
	return vectors
}

// readVector reads the vector that a line of an index is about.
func readVector(dir string, fields []string) (v vector, err error) {
	v.name, v.features = fields[0], fields[9]
	if v.raw, err = os.ReadFile(filepath.Join(dir, fields[1])); err != nil {
		return v, err
	}
	if strings.HasSuffix(fields[1], ".gz") {
		r, err := gzip.NewReader(bytes.NewReader(v.raw))
		if err != nil {
			return v, err
		}
		if v.raw, err = io.ReadAll(r); err != nil {
			return v, err
		}
	}
	if v.block, err = os.ReadFile(filepath.Join(dir, fields[2])); err != nil {
		return v, err
	}
	sum := sha256.Sum256(v.raw)
	if size := strconv.Itoa(len(v.raw)); size != fields[3] || hex.EncodeToString(sum[:]) != fields[7] {
		return v, fmt.Errorf("raw file of %s bytes is not the one of the index", size)
	}
	return v, nil
}
