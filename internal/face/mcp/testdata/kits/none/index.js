// What the inspector needs of packages for its page: nothing.
