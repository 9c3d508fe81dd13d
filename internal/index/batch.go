package index

// BatchSize is the number of addresses that are searched side by side: so many that
// the processor waits for memory for many of them at once.
const BatchSize = 16

// Floors is [Index.Floor] for each address.
func (x *Index) Floors(addrs *[BatchSize]uint64) (at [BatchSize]int) {
	// One step for all, then the next: what one look-up waits for holds up none
	// of the others.
	var starts [BatchSize]uint64
	for k, addr := range addrs {
		starts[k] = x.bucketStart(addr)
	}
	for k, addr := range addrs {
		if at[k] = x.near(starts[k], addr); at[k] == elsewhere {
			at[k], _ = x.locate(addr)
		}
	}
	return at
}

// Names is [Index.Name] for each address; an n of 0 stands for none.
func (x *Index) Names(addrs *[BatchSize]uint64) (offs, ns [BatchSize]uint32) {
	if x.exact != nil {
		return x.exact.Names(addrs)
	}
	for k, at := range x.Floors(addrs) {
		if at >= 0 && x.entries[at].Address == addrs[k] {
			offs[k], ns[k] = x.NameAt(x.First(at))
		}
	}
	return offs, ns
}

// Names is [Exact.Name] for each address; an n of 0 stands for none.
func (x *Exact) Names(addrs *[BatchSize]uint64) (offs, ns [BatchSize]uint32) {
	var homes [BatchSize]int
	for k, addr := range addrs {
		homes[k] = x.home(addr)
	}
	for k, addr := range addrs {
		if e := &x.slots[homes[k]]; e.Address == addr {
			offs[k], ns[k] = e.Off, e.Len
		} else if e.Len != 0 {
			offs[k], ns[k] = x.Name(addr)
		}
	}
	return offs, ns
}
