package blob

import (
	"context"
	"io"
)

// Put implements Store.
func (d *Dir) Put(ctx context.Context, r io.Reader) (ID, error) {
	id, err := d.put(ctx, r)
	if err != nil {
		return ID{}, fail("put", d.path, err)
	}
	return id, nil
}

func (d *Dir) put(ctx context.Context, r io.Reader) (ID, error) {
	if err := ctx.Err(); err != nil {
		return ID{}, err
	}
	f, err := d.create()
	if err != nil {
		return ID{}, err
	}
	defer f.Close()
	t, err := newTemp(f, now(d.opt.Now), d.opt.Grace)
	if err != nil {
		return ID{}, err
	}
	d.fly(t, true)
	defer d.fly(t, false) // after it is gone, or others of this Dir would count it
	defer t.discard()

	room := d.newRoom(ctx, f)
	in, err := take(ctx, t, r, room.fits, most(d.opt.Quota))
	if err != nil {
		return ID{}, err
	}
	if in.whole && holds(ctx, f, in.id) {
		return in.id, d.renew(f, in.id)
	}
	if !in.written {
		return ID{}, &QuotaError{Quota: d.opt.Quota, Used: room.used, Size: in.size, AtLeast: !in.whole}
	}
	if err := t.finish(); err != nil {
		return ID{}, err
	}
	if err := d.settle(ctx, f, t, in); err != nil {
		// Where a file that is open can't be replaced, the reason may be that
		// someone else stored the same.
		if !holds(ctx, f, in.id) {
			return ID{}, err
		}
	}
	return in.id, syncContent(f, in.id)
}

// settle moves what was written into place, if it fits.
func (d *Dir) settle(ctx context.Context, f files, t *temp, in intake) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.checkRoom(ctx, f, in.id, in.size); err != nil {
		return err
	}
	if err := makeFolder(f, in.id.shard()); err != nil {
		return err
	}
	return t.move(in.id.path())
}

// renew makes content that is there already as good as newly stored.
func (d *Dir) renew(f files, id ID) error {
	// The time only helps those who look for content that nobody needs.
	_ = f.Chtimes(id.path(), now(d.opt.Now))
	return syncContent(f, id)
}

// syncContent makes the name of content durable. The folders are synced even if
// another process made them: it may not have come to that yet.
func syncContent(f files, id ID) error {
	if err := f.SyncDir(id.shard()); err != nil {
		return err
	}
	return f.SyncDir(".")
}

// holds reports whether content is there and sound. Damaged content is as good as
// none, and Put replaces it.
func holds(ctx context.Context, f files, id ID) bool {
	file, err := openContent(f, id)
	if err != nil {
		return false
	}
	r := newReader(ctx, id, file)
	defer r.Close()
	_, err = io.Copy(io.Discard, r)
	return err == nil
}
