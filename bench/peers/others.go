package main

import (
	"cmp"
	"debug/elf"
	"debug/gosym"
	"errors"
	"runtime"
	"slices"
	"sort"

	"github.com/go-delve/delve/pkg/proc"
)

// loadELF sorts the functions of the symbol table.
func loadELF(path string) (symbolizer, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	symbols, err := f.Symbols()
	symbols = slices.DeleteFunc(symbols, func(s elf.Symbol) bool { return elf.ST_TYPE(s.Info) != elf.STT_FUNC })
	slices.SortStableFunc(symbols, func(a, b elf.Symbol) int { return cmp.Compare(a.Value, b.Value) })
	return func(pcs []uint64, names []string) {
		for i, pc := range pcs {
			names[i] = ""
			k := sort.Search(len(symbols), func(k int) bool { return symbols[k].Value > pc }) - 1
			if k >= 0 && pc-symbols[k].Value < max(symbols[k].Size, 1) {
				names[i] = symbols[k].Name
			}
		}
	}, errors.Join(err, f.Close())
}

func loadGosym(path string) (symbolizer, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	text, pclntab := f.Section(".text"), f.Section(".gopclntab")
	if text == nil || pclntab == nil {
		return nil, errors.Join(errors.New("no .text or no .gopclntab"), f.Close())
	}
	data, err := pclntab.Data()
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		return nil, err
	}
	return func(pcs []uint64, names []string) {
		for i, pc := range pcs {
			names[i] = ""
			if fn := table.PCToFunc(pc); fn != nil {
				names[i] = fn.Name
			}
		}
	}, nil
}

func loadDelve(path string) (symbolizer, error) {
	info := proc.NewBinaryInfo(runtime.GOOS, runtime.GOARCH, false)
	if err := info.LoadBinaryInfo(path, 0, nil); err != nil {
		return nil, err
	}
	return func(pcs []uint64, names []string) {
		for i, pc := range pcs {
			names[i] = ""
			if fn := info.PCToFunc(pc); fn != nil {
				names[i] = fn.Name
			}
		}
	}, nil
}
