package pod

import "strconv"

// Compressor says which Oodle compressor made the blocks of a buffer of
// [MethodOodle]. It is 0 for the other methods.
type Compressor uint8

// The compressors of Oodle.
const (
	CompressorSelkie    Compressor = 1
	CompressorMermaid   Compressor = 2
	CompressorKraken    Compressor = 3
	CompressorLeviathan Compressor = 4
)

// String is the compressor's name, or its number where it has none.
func (c Compressor) String() string {
	switch c {
	case CompressorSelkie:
		return "Selkie"
	case CompressorMermaid:
		return "Mermaid"
	case CompressorKraken:
		return "Kraken"
	case CompressorLeviathan:
		return "Leviathan"
	}
	return "compressor(" + strconv.Itoa(int(c)) + ")"
}

// Level is how hard an Oodle compressor tried. It is 0 for the methods that are
// not [MethodOodle]. Decoding does not depend on it.
type Level int8

// The levels of Oodle that this module writes. Other writers have those below,
// HyperFast1 to HyperFast4, and those above, Optimal1 to Optimal5.
const (
	LevelSuperFast Level = 1
	LevelVeryFast  Level = 2
	LevelFast      Level = 3
	LevelNormal    Level = 4
)

// String is the level's name, or its number where it has none.
func (l Level) String() string {
	switch {
	case l == 0:
		return "None"
	case l == LevelSuperFast:
		return "SuperFast"
	case l == LevelVeryFast:
		return "VeryFast"
	case l == LevelFast:
		return "Fast"
	case l == LevelNormal:
		return "Normal"
	case -4 <= l && l < 0:
		return "HyperFast" + strconv.Itoa(-int(l))
	case LevelNormal < l && l <= LevelNormal+5:
		return "Optimal" + strconv.Itoa(int(l-LevelNormal))
	}
	return "level(" + strconv.Itoa(int(l)) + ")"
}
