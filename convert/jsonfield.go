package convert

import (
	"fmt"
	"slices"
	"strings"
)

// jsonField is one key of a JSON object that stands for a T: how its value is
// written and read. One table of fields serves both directions.
type jsonField[T any] struct {
	key   string
	write func(*jsonWriter, *T)
	read  func(*jsonReader, *T)
}

func uintField[T any, U uint8 | uint32 | uint64](key string, at func(*T) *U) jsonField[T] {
	most := uint64(^U(0))
	return jsonField[T]{key,
		func(j *jsonWriter, v *T) { j.uint(uint64(*at(v))) },
		func(j *jsonReader, v *T) { *at(v) = U(j.uint(most)) },
	}
}

func int32Field[T any](key string, at func(*T) *int32) jsonField[T] {
	return jsonField[T]{key,
		func(j *jsonWriter, v *T) { j.int(int64(*at(v))) },
		func(j *jsonReader, v *T) { *at(v) = j.int32() },
	}
}

func floatField[T any](key string, at func(*T) *float64) jsonField[T] {
	return jsonField[T]{key,
		func(j *jsonWriter, v *T) { j.float(*at(v)) },
		func(j *jsonReader, v *T) { *at(v) = j.float() },
	}
}

func boolField[T any](key string, at func(*T) *bool) jsonField[T] {
	return jsonField[T]{key,
		func(j *jsonWriter, v *T) { j.bool(*at(v)) },
		func(j *jsonReader, v *T) { *at(v) = j.bool() },
	}
}

func stringField[T any](key string, at func(*T) *string) jsonField[T] {
	return jsonField[T]{key,
		func(j *jsonWriter, v *T) { j.str(*at(v)) },
		func(j *jsonReader, v *T) { *at(v) = j.str() },
	}
}

// addressField is a number written as a string in hex.
func addressField[T any](key string, at func(*T) *uint64) jsonField[T] {
	return jsonField[T]{key,
		func(j *jsonWriter, v *T) { j.address(*at(v)) },
		func(j *jsonReader, v *T) { *at(v) = j.address() },
	}
}

// hexField is bytes written as a string in hex.
func hexField[T any](key string, at func(*T) *[]byte) jsonField[T] {
	return jsonField[T]{key,
		func(j *jsonWriter, v *T) { j.hex(*at(v)) },
		func(j *jsonReader, v *T) { *at(v) = j.hex() },
	}
}

func idsField[T any](key string, at func(*T) *[]uint32) jsonField[T] {
	return jsonField[T]{key,
		func(j *jsonWriter, v *T) {
			j.open('[')
			for _, id := range *at(v) {
				j.next()
				j.uint(uint64(id))
			}
			j.close(']')
		},
		func(j *jsonReader, v *T) {
			ids := at(v)
			for more := j.open('['); more; more = j.more(']') {
				j.index(len(*ids))
				*ids = append(*ids, uint32(j.uint(1<<32-1)))
				j.leave()
			}
		},
	}
}

func objectField[T, E any](key string, at func(*T) *E, fields []jsonField[E]) jsonField[T] {
	return jsonField[T]{key,
		func(j *jsonWriter, v *T) { writeObject(j, at(v), fields) },
		func(j *jsonReader, v *T) { readObject(j, at(v), fields) },
	}
}

func listField[T, E any](key string, at func(*T) *[]E, fields []jsonField[E]) jsonField[T] {
	return jsonField[T]{key,
		func(j *jsonWriter, v *T) {
			j.open('[')
			for list, i := *at(v), 0; i < len(list); i++ {
				j.next()
				writeObject(j, &list[i], fields)
			}
			j.close(']')
		},
		func(j *jsonReader, v *T) {
			list := at(v)
			for more := j.open('['); more; more = j.more(']') {
				j.index(len(*list))
				var e E
				readObject(j, &e, fields)
				*list = append(*list, e)
				j.leave()
			}
		},
	}
}

func writeObject[T any](j *jsonWriter, v *T, fields []jsonField[T]) {
	j.open('{')
	for i := range fields {
		j.key(fields[i].key)
		fields[i].write(j, v)
	}
	j.close('}')
}

func readObject[T any](j *jsonReader, v *T, fields []jsonField[T]) {
	var seen uint64 // no object has more than 64 keys
	next := 0       // the field that comes next in the order of writing
	for more := j.open('{'); more; more = j.more('}') {
		key := j.key()
		if next >= len(fields) || fields[next].key != string(key) {
			next = slices.IndexFunc(fields, func(f jsonField[T]) bool { return f.key == string(key) })
		}
		switch {
		case j.err != nil:
			return
		case next < 0:
			j.fail("expected one of the keys %s, got %q", keysOf(fields), clip(string(key)))
			return
		case seen>>next&1 != 0:
			j.fail("the key %q comes twice", key)
			return
		}
		seen |= 1 << next
		j.field(fields[next].key)
		fields[next].read(j, v)
		j.leave()
		next++
	}
}

func keysOf[T any](fields []jsonField[T]) string {
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = fmt.Sprintf("%q", f.key)
	}
	return strings.Join(keys, ", ")
}
