package database_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/internal/database"
)

// No name of a tenant leads to the folder of another.
func TestFoldersDiffer(t *testing.T) {
	dir := t.TempDir()
	seen := map[string]string{}
	for _, tenant := range []string{"", "team", "Team", "TEAM", "..", "../team", "a/b", "a", strings.Repeat("x", 65), "sha-x"} {
		for range 2 { // what another's became is a name, too
			at, err := database.Folder(dir, tenant, "id")
			if err != nil {
				t.Fatal(err)
			}
			if was, ok := seen[strings.ToLower(at)]; ok && was != tenant {
				t.Errorf("tenants %q and %q are both in %s", was, tenant, at)
			}
			seen[strings.ToLower(at)] = tenant
			if filepath.Dir(filepath.Dir(at)) != dir {
				t.Errorf("tenant %q is in %s", tenant, at)
			}
			tenant = filepath.Base(filepath.Dir(at))
			if tenant == seen[strings.ToLower(at)] {
				break
			}
		}
	}
}

// What is beside a session goes, and nothing of another.
func TestRemoveBeside(t *testing.T) {
	dir := t.TempDir()
	var ids []blob.ID
	var stores []blob.Store
	for _, session := range []string{"one", "two"} {
		s, err := database.Blobs(dir, "t", session)
		if err != nil {
			t.Fatal(err)
		}
		id, err := s.Put(t.Context(), strings.NewReader("whole output"))
		if err != nil {
			t.Fatal(err)
		}
		ids, stores = append(ids, id), append(stores, s)
	}
	for range 2 { // again is no error
		if err := database.RemoveBeside(t.Context(), dir, t.TempDir(), "t", "one"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := stores[0].Stat(t.Context(), ids[0]); err == nil {
		t.Error("the content is there")
	}
	if _, err := stores[1].Stat(t.Context(), ids[1]); err != nil {
		t.Error(err)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "t", "*")); len(found) != 1 {
		t.Errorf("there are %q", found)
	}
}
