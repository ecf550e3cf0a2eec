package jsonl

import "time"

// Impatient makes a File take an unfinished line for one whose writer is dead at
// once, for tests in which there is no other writer.
func Impatient(f *File) { f.patience = 0 }

// Patient makes f wait for an unfinished line for as long as it takes.
func Patient(f *File) { f.patience = time.Hour }
