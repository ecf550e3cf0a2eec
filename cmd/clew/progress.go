package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"
)

// progress tells on the error output what is being done, where that is a
// terminal, and takes it back when it is done. Quick work shows nothing.
type progress struct {
	w       io.Writer
	columns int // 0: nobody looks
	begun   time.Time

	mu    sync.Mutex
	text  string
	shown bool
	stop  chan struct{}
	ended chan struct{}
}

const (
	progressAfter = 500 * time.Millisecond
	progressEvery = 200 * time.Millisecond
)

func newProgress(cmd *cobra.Command) *progress {
	w := cmd.ErrOrStderr()
	p := &progress{w: w, begun: time.Now()}
	if isTerminal(w) {
		p.columns = terminalWidth(w)
	}
	return p
}

// say sets what is being done now.
func (p *progress) say(format string, args ...any) {
	if p.columns == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = headline(fmt.Sprintf(format, args...))
	if p.stop == nil {
		p.stop, p.ended = make(chan struct{}), make(chan struct{})
		go p.run(p.stop, p.ended)
	}
}

func (p *progress) run(stop <-chan struct{}, ended chan<- struct{}) {
	defer close(ended)
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case now := <-tick.C:
			if since := now.Sub(p.begun); since >= progressAfter {
				p.show(since)
			}
		}
	}
}

func (p *progress) show(since time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = true
	end := fmt.Sprintf(" (%d s)", int(since.Seconds()))
	fmt.Fprintf(p.w, "\r\x1b[K%s%s", cut(p.text, p.columns-1-len(end)), end)
}

// done takes away what was shown. It may be called at any time, and again.
func (p *progress) done() {
	p.mu.Lock()
	stop, ended := p.stop, p.ended
	p.stop, p.ended = nil, nil
	p.mu.Unlock()
	if stop != nil {
		close(stop)
		<-ended
	}
	if p.shown {
		p.shown = false
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
