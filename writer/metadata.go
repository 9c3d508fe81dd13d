package writer

import (
	"example.com/tracecache/internal/view"
	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// metadata is the Metadata section.
func (b *builder) metadata() ([]byte, error) {
	dst := view.Append(nil, []pod.Metadata{b.metadataRecord()})
	for _, list := range []func([]byte) ([]byte, error){
		b.threads, b.channels, b.modules, b.imageIDs, b.eventTypeCounts, b.scopeStats,
	} {
		var err error
		if dst, err = list(dst); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

func (b *builder) metadataRecord() pod.Metadata {
	m, s := b.model, &b.model.Session
	at := func(field string) place { return place{list: "session", index: -1, field: field} }
	return pod.Metadata{
		FileSize:            m.FileSize,
		TotalEvents:         m.TotalEvents,
		ParseTimeMs:         m.ParseTimeMs,
		TraceStartUs:        m.TraceStartUs,
		TraceEndUs:          m.TraceEndUs,
		SessionPlatform:     b.intern(s.Platform, at("platform")),
		SessionAppName:      b.intern(s.AppName, at("appName")),
		SessionProjectName:  b.intern(s.ProjectName, at("projectName")),
		SessionCommandLine:  b.intern(s.CommandLine, at("commandLine")),
		SessionBranch:       b.intern(s.Branch, at("branch")),
		SessionBuildVersion: b.intern(s.BuildVersion, at("buildVersion")),
		SessionChangelist:   s.Changelist,
		SessionConfigType:   s.ConfigurationType,
		SessionHasSession:   flag(s.HasSession),
	}
}

func (b *builder) threads(dst []byte) ([]byte, error) {
	const list = "threads"
	return appendList(dst, b, list, b.model.Threads, func(i int, t *trace.Thread) pod.ThreadInfo {
		return pod.ThreadInfo{
			ThreadID:  t.ThreadID,
			Name:      b.intern(t.Name, place{list: list, index: i, field: "name"}),
			GroupName: b.intern(t.GroupName, place{list: list, index: i, field: "groupName"}),
			SystemID:  t.SystemID,
			SortHint:  t.SortHint,
		}
	})
}

func (b *builder) channels(dst []byte) ([]byte, error) {
	const list = "channels"
	return appendList(dst, b, list, b.model.Channels, func(i int, c *trace.Channel) pod.ChannelInfo {
		return pod.ChannelInfo{
			Name:     b.intern(c.Name, place{list: list, index: i, field: "name"}),
			Enabled:  flag(c.Enabled),
			ReadOnly: flag(c.ReadOnly),
		}
	})
}

func (b *builder) modules(dst []byte) ([]byte, error) {
	const list = "modules"
	if err := b.limits.checkCount("image id bytes of all modules", b.imageIDSize()); err != nil {
		return nil, err
	}
	off := uint32(0)
	return appendList(dst, b, list, b.model.Modules, func(i int, m *trace.Module) pod.ModuleInfo {
		rec := pod.ModuleInfo{
			Name:          b.intern(m.Name, place{list: list, index: i, field: "name"}),
			FullPath:      b.intern(m.FullPath, place{list: list, index: i, field: "fullPath"}),
			Base:          m.Base,
			Size:          m.Size,
			ImageIDSize:   uint32(len(m.ImageID)),
			ImageIDOffset: off,
		}
		off += rec.ImageIDSize
		return rec
	})
}

// imageIDSize is the number of bytes of all image ids. Modules may share them,
// so memory does not bound it.
func (b *builder) imageIDSize() uint64 {
	var size uint64
	for _, m := range b.model.Modules {
		size += uint64(len(m.ImageID))
	}
	return size
}

// imageIDs has no count: readers find its end from the modules.
func (b *builder) imageIDs(dst []byte) ([]byte, error) {
	if err := b.limits.checkPayload(pod.SectionMetadata, uint64(len(dst))+b.imageIDSize()); err != nil {
		return nil, err
	}
	for _, m := range b.model.Modules {
		dst = append(dst, m.ImageID...)
	}
	return dst, nil
}

func (b *builder) eventTypeCounts(dst []byte) ([]byte, error) {
	const list = "eventTypeCounts"
	return appendList(dst, b, list, b.model.EventTypeCounts, func(i int, e *trace.EventTypeCount) pod.EventTypeCount {
		return pod.EventTypeCount{
			Name:  b.intern(e.Name, place{list: list, index: i, field: "name"}),
			Count: e.Count,
		}
	})
}

func (b *builder) scopeStats(dst []byte) ([]byte, error) {
	const list = "scopeStats"
	return appendList(dst, b, list, b.model.ScopeStats, func(i int, s *trace.ScopeStat) pod.CPUScopeStat {
		return pod.CPUScopeStat{
			Name:     b.intern(s.Name, place{list: list, index: i, field: "name"}),
			MinUs:    s.MinUs,
			MaxUs:    s.MaxUs,
			Count:    s.Count,
			MeanUs:   s.MeanUs,
			StdDevUs: s.StdDevUs,
		}
	})
}
