package writer

import (
	"example.com/tracecache/internal/view"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// memory is the Memory section.
func (b *builder) memory() ([]byte, error) {
	s := &b.model.AllocSummary
	dst := view.Append(nil, []pod.AllocSummary{{
		HasMemoryData:      flag(s.HasMemoryData),
		PeakTimeUs:         s.PeakTimeUs,
		LiveAllocations:    s.LiveAllocations,
		TotalAllocs:        s.TotalAllocs,
		TotalFrees:         s.TotalFrees,
		TotalReallocAllocs: s.TotalReallocAllocs,
		TotalReallocFrees:  s.TotalReallocFrees,
		PeakBytes:          s.PeakBytes,
		EndBytes:           s.EndBytes,
	}})
	for _, list := range []func([]byte) ([]byte, error){
		b.heaps, b.heapStats, b.callstackStats, b.churnStats,
	} {
		var err error
		if dst, err = list(dst); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

func (b *builder) heaps(dst []byte) ([]byte, error) {
	const list = "heaps"
	return appendList(dst, b, list, b.model.Heaps, func(i int, h *trace.Heap) pod.HeapInfo {
		return pod.HeapInfo{
			ID:       h.ID,
			ParentID: h.ParentID,
			Flags:    h.Flags,
			Name:     b.intern(h.Name, place{list: list, index: i, field: "name"}),
		}
	})
}

func (b *builder) heapStats(dst []byte) ([]byte, error) {
	return appendList(dst, b, "heapStats", b.model.HeapStats, func(_ int, s *trace.HeapStat) pod.HeapStat {
		return pod.HeapStat{
			HeapID:       s.HeapID,
			CurrentBytes: s.CurrentBytes,
			PeakBytes:    s.PeakBytes,
			AllocCount:   s.AllocCount,
			FreeCount:    s.FreeCount,
		}
	})
}

func (b *builder) callstackStats(dst []byte) ([]byte, error) {
	return appendList(dst, b, "callstackStats", b.model.CallstackStats, func(_ int, s *trace.CallstackStat) pod.CallstackAllocStat {
		rec := pod.CallstackAllocStat{
			CallstackID: s.CallstackID,
			LiveCount:   s.LiveCount,
			LiveBytes:   s.LiveBytes,
		}
		rec.ThreadIDCount = uint32(copy(rec.ThreadIDs[:], s.ThreadIDs))
		return rec
	})
}

func (b *builder) churnStats(dst []byte) ([]byte, error) {
	return appendList(dst, b, "churnStats", b.model.ChurnStats, func(_ int, s *trace.ChurnStat) pod.CallstackChurnStat {
		return pod.CallstackChurnStat{
			CallstackID:  s.CallstackID,
			ChurnAllocs:  s.ChurnAllocs,
			ChurnBytes:   s.ChurnBytes,
			TotalAllocs:  s.TotalAllocs,
			TotalBytes:   s.TotalBytes,
			MeanDistance: s.MeanDistance,
		}
	})
}
