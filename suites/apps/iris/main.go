// GET /test answers "test": Iris. It listens on PORT of 127.0.0.1.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/kataras/iris/v12"
)

func main() {
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
