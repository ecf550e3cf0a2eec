package blob

import (
	"context"
	"errors"
)

// The quota is kept without a lock between processes. Who wants to store
// something writes all of it to a temporary file first, and then counts what the
// others have in temporary files and in place. Of two that would not fit together,
// the one that counts last sees the other's bytes; so the quota holds. Both may
// see each other and give up, which a later attempt mends. Within one Dir, d.mu
// lets one in after the other, so there the first that is ready gets the room.

// checkRoom says whether size bytes fit as the content of id. d.mu is held.
func (d *Dir) checkRoom(ctx context.Context, f files, id ID, size int64) error {
	if d.opt.Quota == 0 {
		return nil
	}
	var used int64
	// A file that is renamed between the two halves of the count is counted
	// twice; a second time that is unlikely.
	for range 2 {
		var err error
		used, err = d.count(ctx, f, id)
		if err != nil {
			return err
		}
		if size <= d.opt.Quota-used {
			d.used = used + size
			return nil
		}
	}
	return &QuotaError{Quota: d.opt.Quota, Used: used, Size: size}
}

// room says while content is written whether it still fits, so that what does not
// is not written to its end. It goes by what was counted last, and counts again
// when that says no.
type room struct {
	ctx     context.Context
	d       *Dir
	f       files
	used    int64
	counted bool
}

func (d *Dir) newRoom(ctx context.Context, f files) *room {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &room{ctx: ctx, d: d, f: f, used: d.used}
}

func (r *room) fits(size int64) (bool, error) {
	most := most(r.d.opt.Quota)
	if size <= most-r.used {
		return true, nil
	}
	if r.counted {
		return false, nil
	}
	r.d.mu.Lock()
	defer r.d.mu.Unlock()
	used, err := r.d.count(r.ctx, r.f, ID{})
	if err != nil {
		return false, err
	}
	r.used, r.counted, r.d.used = used, true, used
	return size <= most-used, nil
}

// count adds up what is in the folder, without the temporary files of this Dir
// and without the content of id, which would be replaced. Temporary files come
// first: one that is renamed meanwhile must not slip through.
func (d *Dir) count(ctx context.Context, f files, id ID) (int64, error) {
	var sum int64
	for path, info := range temps(f) {
		if !d.inFlight[path] {
			sum += info.Size()
		}
	}
	for c, err := range contents(ctx, f) {
		var not *notAError
		switch {
		case errors.As(err, &not): // takes no room
		case err != nil:
			return 0, err
		case c.id != id:
			sum += c.info.Size()
		}
	}
	return sum, nil
}

// fly notes that a temporary file is one of this Dir, or not any more.
func (d *Dir) fly(t *temp, on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if on {
		d.inFlight[t.path] = true
	} else {
		delete(d.inFlight, t.path)
	}
}
