package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/zarf-host/zarf-host/cmd/internal/render"
	"github.com/zarf-host/zarf-host/host"
)

// prompter asks a person. One reader serves all questions, since it may hold more than one answer.
type prompter struct {
	in  io.Reader
	out io.Writer
	buf *bufio.Reader
}

// typed is a line that somebody typed, or why there is none.
type typed struct {
	line string
	err  error
}

// ask asks a question with two answers. What nobody typed is what is offered: no, unless yes is. The
// end of the input and anything else is no.
func (p *prompter) ask(ctx context.Context, question string, yes bool) (bool, error) {
	choices := "[y/N]"
	if yes {
		choices = "[Y/n]"
	}
	answer, err := p.read(ctx, question+" "+choices+" ", false)
	if err != nil {
		return false, err
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		return true, nil
	case "":
		return yes, nil
	}
	return false, nil
}

// line asks for a line. An empty one is what is offered, which is shown unless it is secret; a
// secret answer is not echoed either.
func (p *prompter) line(ctx context.Context, question, offered string, secret bool) (string, error) {
	switch {
	case offered != "" && secret:
		question += " [keep the default]"
	case offered != "":
		question += " [" + offered + "]"
	}
	answer, err := p.read(ctx, question+" ", secret)
	if err != nil || answer != "" {
		return answer, err
	}
	return offered, nil
}

// read waits for a line or for ctx. After ctx the line, should it come, is nobody's any more.
func (p *prompter) read(ctx context.Context, question string, secret bool) (string, error) {
	if _, err := fmt.Fprint(p.out, render.Line(question)); err != nil {
		return "", err
	}
	answers := make(chan typed, 1)
	terminal, isFile := p.in.(*os.File)
	hidden := secret && isFile && isTerminal(p.in)
	var before *term.State
	if hidden {
		before, _ = term.GetState(int(terminal.Fd())) // without it there is nothing to restore
	}
	go func() {
		if hidden {
			line, err := term.ReadPassword(int(terminal.Fd()))
			answers <- typed{string(line), err}
			return
		}
		if p.buf == nil {
			p.buf = bufio.NewReader(p.in)
		}
		line, err := p.buf.ReadString('\n')
		if line != "" {
			err = nil // the last line may have no end
		}
		answers <- typed{line, err}
	}()
	select {
	case <-ctx.Done():
		if before != nil {
			_ = term.Restore(int(terminal.Fd()), before) // the program ends
		}
		_, _ = fmt.Fprintln(p.out)
		return "", context.Cause(ctx)
	case a := <-answers:
		if hidden || a.err != nil {
			_, _ = fmt.Fprintln(p.out)
		}
		if a.err != nil {
			return "", fmt.Errorf("%w: nobody answered; --confirm goes on without asking", host.ErrDeclined)
		}
		return strings.TrimSpace(a.line), nil
	}
}
