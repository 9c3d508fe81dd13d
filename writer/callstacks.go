package writer

import (
	"encoding/binary"
	"fmt"
	"math"

	"example.com/tracecache/pod"
)

// callstacks is the Callstacks section. It is written field by field into
// memory of the final size: records in between would double the largest arrays
// of a cache.
func (b *builder) callstacks() ([]byte, error) {
	stacks := b.model.Callstacks
	if err := b.limits.checkCount("callstacks", uint64(len(stacks))); err != nil {
		return nil, err
	}
	var frames uint64 // Stacks may share frames, so memory does not bound it.
	for i := range stacks {
		frames += uint64(len(stacks[i].Frames))
	}
	if err := b.limits.checkCount("frames of all callstacks", frames); err != nil {
		return nil, err
	}
	size := pod.CountSize + pod.CallstackHeaderSize*uint64(len(stacks)) + pod.ResolvedFrameSize*frames
	if err := b.limits.checkPayload(pod.SectionCallstacks, size); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	dst := le.AppendUint32(make([]byte, 0, size), uint32(len(stacks)))
	off := uint32(0)
	for i := range stacks {
		n := uint32(len(stacks[i].Frames))
		dst = le.AppendUint32(dst, stacks[i].ID)
		dst = le.AppendUint32(dst, n)
		dst = le.AppendUint32(dst, off)
		off += n
	}
	for i := range stacks {
		for j, f := range stacks[i].Frames {
			if f.Offset > math.MaxUint32 {
				return nil, fmt.Errorf("%w: callstack %d: frame %d: offset: expected at most %#x, got %#x",
					pod.ErrTooLarge, stacks[i].ID, j, uint32(math.MaxUint32), f.Offset)
			}
			dst = le.AppendUint64(dst, f.Address)
			dst = le.AppendUint32(dst, f.ModuleIndex)
			dst = le.AppendUint32(dst, uint32(f.Offset))
		}
	}
	return dst, nil
}
