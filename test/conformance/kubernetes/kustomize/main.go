// kustomize's own library: `program <folder>` prints the resources of a base.
package main

import (
	"fmt"
	"os"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func main() {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), os.Args[1])
	if err != nil {
		fmt.Printf("not ok build: %v\n", err)
		return
	}
	for _, resource := range resources.Resources() {
		fmt.Printf("ok %s %s\n", resource.GetKind(), resource.GetName())
	}
}
