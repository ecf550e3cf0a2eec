// Package blob keeps large content out of line: tool and shell output that is
// too large for the session file stands there by its hash, and lives as long as
// the session.
//
//	store, err := blob.OpenDir(dir, blob.DirOptions{Quota: 1 << 30})
//	id, err := store.Put(ctx, output)
//	if blob.KeepInline(err) {
//		// Disk full, over quota, no permission: keep the content where it is, report err.
//	}
//	content, err := store.Open(ctx, id)
//
// Content is addressed by its SHA-256, so the same content is stored once, a
// name can't collide, and what is read can be checked: reading content to its end
// fails with ErrCorrupt when it is not what was stored.
//
// # In a folder
//
// A Dir keeps content xyz… in the file xy/sha256-xyz… of its folder. Content is
// written to the folder tmp, synced, and renamed into place, so that under
// its name it is there whole or not at all. Folders are 0700, files 0600. All
// names are resolved inside an os.Root and no symbolic link in the folder is
// followed. Nothing is locked: any number of goroutines and processes may use the
// same folder.
//
// # For tools that read paths
//
// A Cache gives content a path with a readable name. It is never the only
// copy: its files may be deleted at any time and come back when they are asked for.
package blob
