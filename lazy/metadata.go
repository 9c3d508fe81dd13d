package lazy

import (
	"context"

	"example.com/tracecache/pod"
	"example.com/tracecache/trace"
)

// Metadata is the Metadata section: session, threads, channels, modules and
// counts. Records are views of the decoded section; their string fields are
// indices into [Metadata.Names]. It stays valid after Close.
type Metadata struct {
	metadataRecords
	names namesOf
}

// metadataRecords is what the Metadata section holds by itself.
type metadataRecords struct {
	record          pod.Metadata
	threads         []pod.ThreadInfo
	channels        []pod.ChannelInfo
	modules         []pod.ModuleInfo
	imageIDs        []byte
	eventTypeCounts []pod.EventTypeCount
	scopeStats      []pod.CPUScopeStat
	trailing        int // bytes behind the last list
}

// namesOf is the string table, or the error that it failed with, for a section
// that is of use without names.
type namesOf struct {
	strings *Strings
	err     error
}

// Metadata returns the Metadata section, loading it and the string table on
// first use. A damaged string table is no error here, but one of
// [Metadata.Names].
func (c *Cache) Metadata() (*Metadata, error) {
	return access(c, context.Background(), pod.SectionMetadata, &c.metadata, (*Cache).loadMetadata)
}

// Record is the fixed record of the section.
func (m *Metadata) Record() pod.Metadata { return m.record }

// Threads are the threads of the traced program.
func (m *Metadata) Threads() []pod.ThreadInfo { return m.threads }

// Channels are the event channels of the trace.
func (m *Metadata) Channels() []pod.ChannelInfo { return m.channels }

// Modules are the modules of the traced program.
func (m *Metadata) Modules() []pod.ModuleInfo { return m.modules }

// ImageID is the build id of module i, empty where it has none.
func (m *Metadata) ImageID(i int) []byte { return m.imageID(m.modules[i]) }

// EventTypeCounts are the numbers of events by type.
func (m *Metadata) EventTypeCounts() []pod.EventTypeCount { return m.eventTypeCounts }

// ScopeStats are the statistics of CPU scopes.
func (m *Metadata) ScopeStats() []pod.CPUScopeStat { return m.scopeStats }

// Names is the string table that the records' string fields index, or the error
// of the StringTable section.
func (m *Metadata) Names() (*Strings, error) { return m.names.strings, m.names.err }

// Session describes the traced run in words. Its error is that of
// [Metadata.Names].
func (m *Metadata) Session() (trace.Session, error) {
	s, err := m.Names()
	if err != nil {
		return trace.Session{}, err
	}
	return m.session(s), nil
}

// session is the session, with names of s.
func (m *metadataRecords) session(s *Strings) trace.Session {
	r := &m.record
	return trace.Session{
		Platform:          s.name(r.SessionPlatform),
		AppName:           s.name(r.SessionAppName),
		ProjectName:       s.name(r.SessionProjectName),
		CommandLine:       s.name(r.SessionCommandLine),
		Branch:            s.name(r.SessionBranch),
		BuildVersion:      s.name(r.SessionBuildVersion),
		Changelist:        r.SessionChangelist,
		ConfigurationType: r.SessionConfigType,
		HasSession:        r.SessionHasSession != 0,
	}
}

func (m *metadataRecords) imageID(mod pod.ModuleInfo) []byte {
	off, n := uint64(mod.ImageIDOffset), uint64(mod.ImageIDSize)
	if n == 0 {
		return nil
	}
	return m.imageIDs[off : off+n : off+n]
}

func (c *Cache) loadMetadata(ctx context.Context) (*Metadata, error) {
	c.pin(pod.SectionMetadata, pod.SectionStringTable)
	defer c.unpin(pod.SectionMetadata, pod.SectionStringTable)
	recs, err := get(c, ctx, &c.records, (*Cache).loadMetadataRecords)
	if err != nil {
		return nil, err
	}
	names, err := c.namesFor(ctx)
	if err != nil {
		return nil, err
	}
	return &Metadata{*recs, names}, nil
}

// namesFor loads the string table for a section that is of use without, where it is
// damaged or does not fit in the budget. Its error is one of the moment.
func (c *Cache) namesFor(ctx context.Context) (namesOf, error) {
	s, err := get(c, ctx, &c.strings, (*Cache).loadStrings)
	if err != nil && !lasting(err) {
		return namesOf{}, err
	}
	return namesOf{s, err}, nil
}

func (c *Cache) loadMetadataRecords(ctx context.Context) (*metadataRecords, error) {
	c.pin(pod.SectionMetadata)
	defer c.unpin(pod.SectionMetadata)
	d, err := c.load(ctx, pod.SectionMetadata)
	if err != nil {
		return nil, err
	}
	return parsed(c, d, func() (*metadataRecords, int, error) { return c.parseMetadata(d.raw) })
}

// parseMetadata makes records of the decoded section, which take extra bytes beside
// it.
func (c *Cache) parseMetadata(raw []byte) (m *metadataRecords, extra int, err error) {
	p := payload{file: c.file, id: pod.SectionMetadata, raw: raw}
	m = &metadataRecords{
		record:   record[pod.Metadata](&p, pod.MetadataSize, "metadata record"),
		threads:  list[pod.ThreadInfo](&p, pod.ThreadInfoSize, "threads"),
		channels: list[pod.ChannelInfo](&p, pod.ChannelInfoSize, "channels"),
		modules:  list[pod.ModuleInfo](&p, pod.ModuleInfoSize, "modules"),
	}
	var end uint64
	for _, mod := range m.modules {
		end = max(end, uint64(mod.ImageIDOffset)+uint64(mod.ImageIDSize))
	}
	m.imageIDs = p.take(end, "image ids")
	m.eventTypeCounts = list[pod.EventTypeCount](&p, pod.EventTypeCountSize, "event type counts")
	m.scopeStats = list[pod.CPUScopeStat](&p, pod.CPUScopeStatSize, "scope stats")
	if p.err != nil {
		return nil, 0, p.err
	}
	m.trailing = len(raw) - p.off
	return m, p.extra, nil
}
