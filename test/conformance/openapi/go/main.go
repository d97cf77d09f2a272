// Package main only holds the pins of the generator, and of what its code needs. The program is that of
// deploy/docs/generated-clients.md.
package main

import _ "github.com/oapi-codegen/runtime"

func main() {}
