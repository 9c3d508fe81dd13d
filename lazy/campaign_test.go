package lazy_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/blake3"

	"example.com/tracecache/lazy"
	"example.com/tracecache/pod"
)

func TestCampaignFlips(t *testing.T) {
	for _, g := range goldens(t) {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			for off := 0; off < len(g.bytes); off += stride() {
				flips := []byte{0xff}
				if *campaignAll {
					flips = []byte{1, 2, 4, 8, 16, 32, 64, 128, 0xff}
				}
				for _, flip := range flips {
					b := bytes.Clone(g.bytes)
					b[off] ^= flip
					g.check(t, g.changed(b, off, fmt.Sprintf("^ %#x", flip)))
				}
			}
		})
	}
}

func TestCampaignLengths(t *testing.T) {
	for _, g := range goldens(t) {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			end := 0 // of the last byte that means anything
			for off := range g.bytes {
				if id, at := g.place(off); id != pod.SectionNone && at >= 0 {
					end = off + 1
				}
			}
			for n := 0; n < len(g.bytes); n += stride() {
				d := damage{what: fmt.Sprintf("%d bytes of it", n), b: g.bytes[:n:n], section: pod.SectionNone, wrong: never, unnoticed: n >= end}
				g.check(t, d)
				c, err := lazy.OpenBytes(d.b)
				if err != nil {
					require.ErrorIs(t, err, lazy.ErrTruncated, d.what)
					continue
				}
				for _, id := range pod.Sections {
					if off, size := stored(g.bytes, id); off+size > n {
						require.ErrorIs(t, accessors[id](c), lazy.ErrTruncated, "%s, %v", d.what, id)
					}
				}
			}
		})
	}
}

// values are those that a field of some bits is set to, besides its own neighbours.
func values(own uint64, bits int) (vs []uint64) {
	limit := uint64(math.MaxUint64) >> (64 - bits)
	for _, v := range []uint64{0, 1, limit, limit - 1, 1 << (bits - 1), own - 1, own + 1} {
		if v &= limit; v != own {
			vs = append(vs, v)
		}
	}
	return vs
}

// field is a number in the file.
type field struct {
	at, bits int
	big      bool // its first byte is the highest
}

func (f field) get(b []byte) uint64 {
	var order binary.ByteOrder = binary.LittleEndian
	if f.big {
		order = binary.BigEndian
	}
	if f.bits == 32 {
		return uint64(order.Uint32(b[f.at:]))
	}
	return order.Uint64(b[f.at:])
}

func (f field) set(b []byte, v uint64) {
	var order binary.ByteOrder = binary.LittleEndian
	if f.big {
		order = binary.BigEndian
	}
	if f.bits == 32 {
		order.PutUint32(b[f.at:], uint32(v))
	} else {
		order.PutUint64(b[f.at:], v)
	}
}

// fields are all numbers of header and directory, and of the containers: header, block
// table, and, where the section is stored as it is, every aligned word of it.
func (g *golden) fields(t testing.TB) (all []field) {
	t.Helper()
	all = []field{{at: 0, bits: 32}, {at: 4, bits: 32}, {at: 8, bits: 64}, {at: 16, bits: 64}}
	for _, id := range pod.Sections {
		at := entryAt(id)
		all = append(all, field{at: at, bits: 32}, field{at: at + 4, bits: 32}, field{at: at + 8, bits: 64}, field{at: at + 16, bits: 64})
		info, err := openBuf(t, g.bytes).Info(id)
		require.NoError(t, err)
		off, size := stored(g.bytes, id)
		for _, k := range []int{0, 4, 8, 12} {
			all = append(all, field{at: off + k, bits: 32, big: true})
		}
		for _, k := range []int{16, 24} {
			all = append(all, field{at: off + k, bits: 64, big: true}, field{at: off + k, bits: 32, big: true})
		}
		if info.Header.Method == pod.MethodNone {
			for k := pod.BufferHeaderSize; k+4 <= size; k += 4 {
				all = append(all, field{at: off + k, bits: 32})
			}
			continue
		}
		for i := range info.Blocks {
			all = append(all, field{at: off + pod.BufferHeaderSize + 4*i, bits: 32, big: true})
		}
	}
	return all
}

// Each number set to what numbers are set to by those who mean harm, as it is, and with
// the checksums made right by them.
func TestCampaignFields(t *testing.T) {
	for _, g := range goldens(t) {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			for i, f := range g.fields(t) {
				if i%stride() != 0 {
					continue
				}
				for _, v := range values(f.get(g.bytes), f.bits) {
					b := bytes.Clone(g.bytes)
					f.set(b, v)
					what := fmt.Sprintf("%d bits = %#x", f.bits, v)
					d := g.changed(b, f.at, what)
					// A field of several bytes may reach into the next one, and a
					// directory that is changed may make sections overlap.
					if d.section == pod.SectionNone || d.wrong(d.section) {
						d.section, d.unnoticed = pod.SectionNone, true
					}
					g.check(t, d)
					if id, _ := g.place(f.at); id != pod.SectionNone && !g.sums[id] { // making right takes the table away
						hostile := bytes.Clone(b)
						makeRight(hostile, g.bytes, id)
						g.check(t, damage{what: d.what + ", checksums made right", b: hostile, section: pod.SectionNone, wrong: always, unnoticed: true, hostile: true})
					}
				}
			}
		})
	}
}

// makeRight makes the checksums of a section of b right. Where it lies is known from
// the file that it was.
func makeRight(b, was []byte, id pod.Section) {
	off, size := stored(was, id)
	binary.LittleEndian.PutUint32(b[entryAt(id)+4:], 0)
	head := b[off : off+size]
	tables := pod.BufferHeaderSize
	if head[8] == byte(pod.MethodNone) {
		hash := blake3.Sum256(head[pod.BufferHeaderSize:])
		copy(head[32:], hash[:])
	} else {
		tables += 4 * int(binary.BigEndian.Uint32(was[off+12:]))
	}
	binary.BigEndian.PutUint32(head[4:], crc32.ChecksumIEEE(head[8:min(tables, len(head))]))
}

// Method, compressor, level and block size exponent, set to anything by those who then
// make the checksum of the header right.
func TestCampaignMethods(t *testing.T) {
	values := 20
	if *campaignAll {
		values = 256
	}
	for _, g := range goldens(t) {
		for _, id := range pod.Sections {
			off, _ := stored(g.bytes, id)
			tables := pod.BufferHeaderSize
			if g.bytes[off+8] != byte(pod.MethodNone) {
				tables += 4 * int(binary.BigEndian.Uint32(g.bytes[off+12:]))
			}
			for at := off + 8; at < off+12; at++ {
				for v := 0; v < values; v += 1 + stride()/5 {
					b := bytes.Clone(g.bytes)
					b[at] = byte(v)
					binary.BigEndian.PutUint32(b[off+4:], crc32.ChecksumIEEE(b[off+8:off+tables]))
					g.check(t, damage{what: fmt.Sprintf("byte %#x of %v = %d, CRC made right", at-off, id, v), b: b,
						section: pod.SectionNone, wrong: always, unnoticed: true, hostile: true})
				}
			}
		}
	}
}
