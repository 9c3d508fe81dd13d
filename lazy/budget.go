package lazy

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"example.com/tracecache/mapped"
	"example.com/tracecache/pod"
)

// Budget bounds the memory that any number of caches together hold decoded. When a
// section is about to be decoded that does not fit in any more, the sections of all
// these caches that were not asked for for the longest time are dropped first, as
// [Cache.Release] does; they are decoded again when they are asked for. What counts
// is the accessors of [Cache]: look-ups on a [Symbols] pay nothing, and count for
// nothing.
//
// A section that is being loaded is not dropped, so the caches hold at most the
// budget and what is being loaded. When that is done they are within the budget
// again. A section counts whole from the moment on that the first of its blocks is
// decoded, with the memory of its indexes. Symbols are of use only with their
// string table, so the two are admitted together. What alone is larger than the
// budget fails with [ErrTooLarge].
//
// Dropped memory goes when nothing that was handed out refers to it any more. A
// Budget does not keep a forgotten cache alive. It is safe for concurrent use.
type Budget struct {
	limit int64
	clock atomic.Int64 // accessor calls

	mu       sync.Mutex // of all below, and of what accounts and charges hold
	resident int64
	released int64
	accounts map[*account]struct{}
}

// unlimited is the limit of the budget that a cache has for itself.
const unlimited = math.MaxInt64

// NewBudget returns a budget of so many bytes. One of none, as the zero Budget is,
// admits nothing.
func NewBudget(bytes int64) *Budget {
	return &Budget{limit: bytes}
}

// BudgetStats says what a [Budget] has been spent on.
type BudgetStats struct {
	Limit    int64 // bytes
	Resident int64 // bytes that caches hold decoded
	Released int64 // bytes dropped that handles and strings still refer to, or that wait for the collector
	Caches   int   // open caches
}

// Stats is how the budget stands.
func (b *Budget) Stats() BudgetStats {
	b.mu.Lock()
	defer b.mu.Unlock()
	return BudgetStats{Limit: b.limit, Resident: b.resident, Released: b.released, Caches: len(b.accounts)}
}

// account is what one cache has of a budget. It does not refer to the cache, so
// that a forgotten one can go.
type account struct {
	budget   *Budget
	cache    weak.Pointer[Cache]
	resident [pod.SectionCount]int64
	released [pod.SectionCount]int64
	closed   bool
}

// open makes the account of a cache. A forgotten cache gives back its memory and
// file.
func (b *Budget) open(c *Cache) *account {
	a := &account{budget: b, cache: weak.Make(c)}
	b.mu.Lock()
	if b.accounts == nil {
		b.accounts = map[*account]struct{}{}
	}
	b.accounts[a] = struct{}{}
	b.mu.Unlock()
	type forgotten struct {
		account *account
		file    *mapped.File
	}
	runtime.AddCleanup(c, func(f forgotten) {
		f.account.close()
		_ = f.file.Close() // nobody is there to be told
	}, forgotten{a, c.file})
	return a
}

// close takes the cache off the budget, with what it held. Nothing is admitted for
// it any more.
func (a *account) close() {
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	a.closeLocked()
}

func (a *account) closeLocked() {
	if a.closed {
		return
	}
	a.closed = true
	delete(a.budget.accounts, a)
	for id, n := range a.resident {
		a.budget.resident -= n
		a.resident[id] = 0
	}
}

// charge is the memory of one decode of a section. It is resident until the cache
// drops it, and then released until the collector has found that nothing refers to
// it.
type charge struct {
	account *account
	id      pod.Section
	bytes   int64
	dropped bool
	gone    bool // the memory is not there: not yet, or not any more
}

func (a *account) charge(id pod.Section, bytes int64) *charge {
	a.resident[id] += bytes
	a.budget.resident += bytes
	return &charge{account: a, id: id, bytes: bytes, gone: true}
}

// add is more memory for the same section.
func (ch *charge) add(bytes int64) {
	ch.bytes += bytes
	switch a := ch.account; {
	case !ch.dropped && !a.closed:
		a.resident[ch.id] += bytes
		a.budget.resident += bytes
	case ch.dropped && !ch.gone:
		a.released[ch.id] += bytes
		a.budget.released += bytes
	}
}

// drop makes what is resident released.
func (ch *charge) drop() {
	ch.dropped = true
	if a := ch.account; !a.closed { // else it has been taken off
		a.resident[ch.id] -= ch.bytes
		a.budget.resident -= ch.bytes
	}
	ch.setReleased(!ch.gone)
}

// made says that the memory is there, and went that it is not any more.
func (ch *charge) made() {
	ch.account.budget.mu.Lock()
	defer ch.account.budget.mu.Unlock()
	ch.gone = false
	ch.setReleased(ch.dropped)
}

func (ch *charge) went() {
	b := ch.account.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if ch.dropped && !ch.gone {
		ch.account.released[ch.id] -= ch.bytes
		b.released -= ch.bytes
	}
	ch.gone = true
}

func (ch *charge) setReleased(yes bool) {
	if yes {
		ch.account.released[ch.id] += ch.bytes
		ch.account.budget.released += ch.bytes
	}
}

// evicted is a section that was dropped for want of room.
type evicted struct {
	cache *Cache
	id    pod.Section
	bytes int64
}

// makeRoom drops the sections not used for the longest time until need more bytes
// fit, or nothing is left that may be dropped.
func (b *Budget) makeRoom(need int64) (dropped []evicted) {
	if need <= b.limit-b.resident {
		return nil
	}
	type candidate struct {
		evicted
		used int64
	}
	var all []candidate
	for a := range b.accounts {
		c := a.cache.Value()
		if c == nil { // and so is its memory
			a.closeLocked()
			continue
		}
		for id := range c.sections {
			if s := &c.sections[id]; s.state.Load() != nil && s.pins.Load() == 0 {
				all = append(all, candidate{evicted{c, s.id, a.resident[id]}, c.lastUse(s.id)})
			}
		}
	}
	slices.SortFunc(all, func(x, y candidate) int { return cmp.Compare(x.used, y.used) })
	for _, e := range all {
		if need <= b.limit-b.resident {
			break
		}
		if e.cache.drop(e.id) {
			dropped = append(dropped, e.evicted)
		}
	}
	return dropped
}

// budgetError is the error of what does not fit in a budget. It is not of the bytes,
// and not kept.
type budgetError struct{ need, limit int64 }

func (e *budgetError) Error() string {
	return fmt.Sprintf("%v: takes %d bytes decoded, the budget has %d", ErrTooLarge, e.need, e.limit)
}

func (e *budgetError) Unwrap() error { return ErrTooLarge }

// fits says whether so many bytes could be admitted at all.
func (b *Budget) fits(c *Cache, id pod.Section, bytes int64) error {
	if bytes <= b.limit {
		return nil
	}
	return &pod.Error{Path: c.file.Path(), Section: id, Err: &budgetError{bytes, b.limit}}
}
