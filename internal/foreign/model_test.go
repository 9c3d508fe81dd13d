package foreign

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// model is what the reader found in a file, in the shape of the model's JSON
// with numbers as json.Number. Keys follow from the names of the records'
// fields, so this side knows nothing of the printer.
func (c *content) model() map[string]any {
	m := map[string]any{"session": map[string]any{}}
	for name, v := range c.fixed["Metadata"] {
		if rest, ok := strings.CutPrefix(name, "Session"); ok {
			if rest == "ConfigType" {
				rest = "ConfigurationType"
			}
			m["session"].(map[string]any)[lower(rest)] = jsonValue(rest, v)
			continue
		}
		m[lower(name)] = jsonValue(name, v)
	}
	m["allocSummary"] = jsonObject(c.fixed["AllocSummary"])
	for key, name := range map[string]string{
		"threads": "ThreadInfo", "channels": "ChannelInfo", "modules": "ModuleInfo", "eventTypeCounts": "EventTypeCount",
		"scopeStats": "CpuScopeStat", "heaps": "HeapInfo", "heapStats": "HeapStat", "callstackStats": "CallstackAllocStat",
		"churnStats": "CallstackChurnStat", "callstacks": "CallstackHeader", "symbols": "SymbolEntry",
	} {
		all := []any{}
		for _, r := range c.lists[name] {
			o := jsonObject(r)
			c.finish(o, r)
			all = append(all, o)
		}
		m[key] = all
	}
	return m
}

// finish replaces the fields that say where something is by what is there.
func (c *content) finish(o map[string]any, r rec) {
	take := func(names ...string) (first, second uint64) {
		for _, n := range names {
			delete(o, lower(n))
		}
		return r[names[0]].(uint64), r[names[1]].(uint64)
	}
	if _, ok := r["ImageIdSize"]; ok {
		n, off := take("ImageIdSize", "ImageIdOffset")
		o["imageId"] = hex.EncodeToString(c.blob[off : off+n])
	}
	if ids, ok := r["ThreadIds"]; ok {
		delete(o, "threadIdCount")
		n := min(4, r["ThreadIdCount"].(uint64))
		o["threadIds"] = jsonValue("ThreadIds", ids.([]any)[:n])
	}
	if _, ok := r["FrameCount"]; ok {
		n, off := take("FrameCount", "FrameOffset")
		fs := []any{}
		for _, f := range c.lists["ResolvedFrame"][off : off+n] {
			fs = append(fs, jsonObject(f))
		}
		o["frames"] = fs
	}
	if _, ok := r["StringIdx"]; ok {
		o["name"] = o["stringIdx"]
		delete(o, "stringIdx")
	}
}

func jsonObject(r rec) map[string]any {
	o := map[string]any{}
	for name, v := range r {
		o[lower(name)] = jsonValue(name, v)
	}
	return o
}

func jsonValue(name string, v any) any {
	switch name {
	case "HasSession", "Enabled", "ReadOnly", "HasMemoryData":
		return v != uint64(0)
	case "Address", "Base":
		return fmt.Sprintf("%#x", v)
	}
	switch v := v.(type) {
	case string:
		if !utf8.ValidString(v) {
			return map[string]any{"base64": base64.StdEncoding.EncodeToString([]byte(v))}
		}
		return v
	case float64:
		s := strconv.FormatFloat(v, 'g', -1, 64)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return s
		}
		return json.Number(s)
	case []any:
		all := []any{}
		for _, x := range v {
			all = append(all, jsonValue("", x))
		}
		return all
	}
	return json.Number(fmt.Sprint(v))
}

func lower(s string) string { return strings.ToLower(s[:1]) + s[1:] }
