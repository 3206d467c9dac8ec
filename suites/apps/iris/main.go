// GET /test answers "test": Iris. It listens on PORT of 127.0.0.1.
//
//	--version   prints what it is made of, and ends
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"

	"github.com/kataras/iris/v12"
)

func main() {
	if slices.Contains(os.Args, "--version") {
		fmt.Println("Iris", iris.Version, "on", runtime.Version())
		return
	}

	app := iris.New()
	app.Get("/test", func(ctx iris.Context) {
		ctx.WriteString("test")
	})

	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	stopped := make(chan error, 1)
	go func() {
		<-stop.Done()
		stopped <- app.Shutdown(context.Background())
	}()

	// Signals are heard above, and a closed server is no failure.
	err := app.Listen("127.0.0.1:"+os.Getenv("PORT"),
		iris.WithoutInterruptHandler,
		iris.WithoutServerError(iris.ErrServerClosed),
		iris.WithoutStartupLog,
	)
	if err != nil {
		log.Fatal(err)
	}
	if err := <-stopped; err != nil {
		log.Fatal(err)
	}
}
