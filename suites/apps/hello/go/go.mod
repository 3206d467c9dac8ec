module hello

go 1.20
