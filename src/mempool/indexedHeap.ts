/** An item that stores its index in the one heap that holds it; -1 when it is in none. */
export interface HeapItem {
  heapIndex: number
}

/** A binary heap whose items can be moved and removed in O(log n). `before(a, b)`: a comes out before b. */
export class IndexedHeap<T extends HeapItem> {
  readonly #before: (a: T, b: T) => boolean
  readonly #items: T[] = []

  /** Builds the heap of `items` in O(n). */
  constructor(before: (a: T, b: T) => boolean, items: Iterable<T> = []) {
    this.#before = before
    for (const item of items) {
      item.heapIndex = this.#items.length
      this.#items.push(item)
    }
    this.rebuild()
  }

  get size(): number {
    return this.#items.length
  }

  /** The item that comes out next. */
  peek(): T | undefined {
    return this.#items[0]
  }

  pop(): T | undefined {
    const first = this.#items[0]
    if (first !== undefined) this.remove(first)
    return first
  }

  /** Adds an item, or moves it to where it belongs after its rank changed. */
  put(item: T): void {
    if (item.heapIndex < 0) {
      item.heapIndex = this.#items.length
      this.#items.push(item)
    }
    if (!this.#up(item)) this.#down(item)
  }

  remove(item: T): void {
    const index = item.heapIndex
    if (index < 0) return
    item.heapIndex = -1
    const last = this.#items.pop()!
    if (last === item) return
    this.#place(last, index)
    if (!this.#up(last)) this.#down(last)
  }

  /** Restores the order after the ranks of many items changed: O(n). */
  rebuild(): void {
    for (let i = (this.#items.length >> 1) - 1; i >= 0; i--) this.#down(this.#items[i]!)
  }

  #place(item: T, index: number): void {
    item.heapIndex = index
    this.#items[index] = item
  }

  #up(item: T): boolean {
    let index = item.heapIndex
    const start = index
    while (index > 0) {
      const parent = this.#items[(index - 1) >> 1]!
      if (!this.#before(item, parent)) break
      this.#place(parent, index)
      index = (index - 1) >> 1
    }
    this.#place(item, index)
    return index !== start
  }

  #down(item: T): void {
    const items = this.#items
    let index = item.heapIndex
    for (;;) {
      let child = 2 * index + 1
      if (child >= items.length) break
      if (child + 1 < items.length && this.#before(items[child + 1]!, items[child]!)) child++
      if (!this.#before(items[child]!, item)) break
      this.#place(items[child]!, index)
      index = child
    }
    this.#place(item, index)
  }
}
