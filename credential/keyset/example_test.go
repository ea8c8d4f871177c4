package keyset_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/parley-run/parley"
	_ "github.com/parley-run/parley/credential/keyset" // reads keysets
)

// A file with a keyset is made once, and given to all servers of a database.
func Example() {
	dir, err := os.MkdirTemp("", "keyset")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file, err := parley.CreateSealingKeys(context.Background(), parley.Config{Logins: parley.LoginConfig{KeyFile: filepath.Join(dir, "keys.json")}})
	fmt.Println(filepath.Base(file), err)
	// Output: keys.json <nil>
}
