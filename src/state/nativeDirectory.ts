import { compareBytes, EMPTY_BYTES } from '../primitives/bytes.ts'
import { damagedContents } from '../storage/damage.ts'
import { ByteWriter, readKey, sharedPrefix, VarintReader, writeKey } from './varint.ts'

/*
 * The sorted set of the native modules' raw keys, as a B+ tree of small pages. Keys with a prefix
 * are found by reading pages, without range reads of the database. Each page is a flat entry with a
 * history, so this works at any retained height. Page 0 is the root. Pages are split when they grow
 * too large and removed when they are empty; half-empty pages are not merged.
 */

/**
 * Largest page in bytes. Pages are small, because a change adds the whole previous page to the
 * history.
 */
const PAGE_BYTES = 2048
/** When a page is split, its parts are filled up to this size. */
const FILL_BYTES = 1536
const ROOT = 0

interface Page {
  /** 0: a leaf of raw keys; above 0: each key is a lower bound of the keys in its child */
  readonly height: number
  /** ascending */
  readonly keys: readonly Uint8Array[]
  /** page numbers of the children; empty for a leaf */
  readonly children: readonly number[]
  /** of the root: the number that the next new page gets */
  readonly nextPage: number
}

/** Reads the bytes of a page; undefined or no bytes when the page does not exist. */
type PageReader = (page: number) => Uint8Array | undefined

/**
 * Yields the raw keys with `prefix` from `start` on, ascending, or with `reverse` from `start`
 * down. Each page is read when it is reached, and searched as it is encoded: a walk that finds no
 * keys takes one pass over the bytes of a page for each level.
 * @param start included; by default the first key with the prefix (with `reverse` the last one)
 */
export function* walkKeys(
  readPage: PageReader,
  prefix: Uint8Array,
  start?: Uint8Array,
  reverse = false,
): Generator<Uint8Array, void, void> {
  const low = reverse || start === undefined || compareBytes(start, prefix) < 0 ? prefix : start
  const high = reverse ? start : undefined
  const limits: Limits = { prefix, low, high }
  yield* reverse ? walkDown(readPage, ROOT, limits) : walkUp(readPage, ROOT, limits)
}

/** The keys that a walk returns: from `low` on, those with `prefix` that are not above `high`. */
interface Limits {
  readonly prefix: Uint8Array
  readonly low: Uint8Array
  readonly high: Uint8Array | undefined
}

function* walkUp(readPage: PageReader, number: number, limits: Limits): Generator<Uint8Array, void, void> {
  const page = openPage(readPage, number, limits)
  // A child's keys are from its own bound (which may be below its first key) up to the bound of the next child.
  let child: number | undefined
  while (page?.next() && !page.isAbove()) {
    if (page.height === 0) {
      if (!page.isBelow()) yield page.key()
      continue
    }
    if (child !== undefined && page.isAfterLow()) yield* walkUp(readPage, child, limits)
    child = page.child
  }
  if (child !== undefined) yield* walkUp(readPage, child, limits)
}

function* walkDown(readPage: PageReader, number: number, limits: Limits): Generator<Uint8Array, void, void> {
  const page = openPage(readPage, number, limits)
  if (page === undefined) return
  let children: number[] = []
  const keys: Uint8Array[] = []
  while (page.next() && !page.isAbove()) {
    if (page.height > 0) {
      if (!page.isAfterLow()) children = []
      children.push(page.child)
    } else if (!page.isBelow()) {
      keys.push(page.key())
    }
  }
  yield* keys.reverse()
  for (const child of children.reverse()) yield* walkDown(readPage, child, limits)
}

/** How the current one of several ascending keys compares to a fixed one; the bytes that it shares with the key before are not compared again. */
class Comparison {
  readonly #with: Uint8Array
  /** how many bytes the current key shares with the fixed one */
  #same = 0
  /** below 0, 0 or above 0, as the current key is below the fixed one, equal to it or above */
  order = -1

  constructor(fixed: Uint8Array) {
    this.#with = fixed
  }

  /** @param shared how many bytes the key shares with the key before */
  next(key: Uint8Array, length: number, shared: number): void {
    // Where the key before differed, this key is the same.
    if (shared > this.#same) return
    const other = this.#with
    const end = Math.min(length, other.length)
    let at = shared
    while (at < end && key[at] === other[at]) at++
    this.#same = at
    this.order = at < end ? key[at]! - other[at]! : length - other.length
  }
}

/** An encoded page whose keys are read one after another. */
class PageCursor {
  readonly height: number
  /** of the current key; of a page above the leaves */
  child = 0
  readonly #reader: VarintReader
  readonly #prefix: Uint8Array
  readonly #low: Comparison
  readonly #high: Comparison | undefined
  #key = new Uint8Array(SCRATCH_BYTES)
  #length = 0
  /** how many bytes of the prefix the current key has */
  #prefixed = 0

  constructor(bytes: Uint8Array, { prefix, low, high }: Limits) {
    this.#reader = new VarintReader(bytes)
    this.height = this.#reader.next()
    this.#reader.next() // the number of the next page
    this.#prefix = prefix
    this.#low = new Comparison(low)
    this.#high = high && new Comparison(high)
  }

  /** Moves to the next key. @returns false after the last one */
  next(): boolean {
    const reader = this.#reader
    if (reader.done) return false
    const shared = reader.next()
    const length = shared + reader.next()
    const end = reader.offset + length - shared
    if (shared > this.#length || end > reader.bytes.length) throw damagedContents('a page of the native directory')
    if (length > this.#key.length) {
      const longer = new Uint8Array(length * 2)
      longer.set(this.#key)
      this.#key = longer
    }
    for (let at = shared; at < length; at++) this.#key[at] = reader.bytes[reader.offset++]!
    this.#length = length
    if (this.height > 0) this.child = reader.next()
    this.#low.next(this.#key, length, shared)
    this.#high?.next(this.#key, length, shared)
    this.#prefixed = Math.min(this.#prefixed, shared)
    const most = Math.min(length, this.#prefix.length)
    while (this.#prefixed < most && this.#key[this.#prefixed] === this.#prefix[this.#prefixed]) this.#prefixed++
    return true
  }

  /** Returns a copy of the current key. */
  key(): Uint8Array {
    return this.#key.slice(0, this.#length)
  }

  isBelow(): boolean {
    return this.#low.order < 0
  }

  isAfterLow(): boolean {
    return this.#low.order > 0
  }

  /** Whether no key from the current one on is within the limits. */
  isAbove(): boolean {
    if (this.#high !== undefined && this.#high.order > 0) return true
    // Keys from `low` on that lack the prefix are above all that have it.
    return this.#low.order >= 0 && this.#prefixed < this.#prefix.length
  }
}

/** Most keys are shorter. */
const SCRATCH_BYTES = 96

/** Undefined for the root of an empty set. */
function openPage(readPage: PageReader, number: number, limits: Limits): PageCursor | undefined {
  const bytes = pageBytes(readPage, number)
  return bytes && new PageCursor(bytes, limits)
}

/** A raw key that is new in the set, or removed from it. */
interface DirectoryChange {
  readonly key: Uint8Array
  readonly present: boolean
}

/**
 * Returns the new bytes of the pages that `changes` (sorted by key) affect; no bytes: the page is
 * deleted.
 */
export function updateDirectory(readPage: PageReader, changes: readonly DirectoryChange[]): Map<number, Uint8Array> {
  const written = new Map<number, Uint8Array>()
  if (changes.length === 0) return written
  let { nextPage } = loadPage(readPage, ROOT)

  /**
   * Applies changes to the subtree of a page. Returns the pages that replace it, with the lower
   * bound of each.
   */
  const update = (number: number, part: readonly DirectoryChange[]): { key: Uint8Array; page: number }[] => {
    const page = loadPage(readPage, number)
    const merged = page.height === 0 ? mergeLeaf(page, part) : mergeInner(page, part)
    const parts = split(merged)
    if (number !== ROOT) {
      if (parts.length === 0) written.set(number, EMPTY_BYTES)
      return parts.map((content, i) => {
        const own = i === 0 ? number : nextPage++
        written.set(own, encodePage(content))
        return { key: content.keys[0]!, page: own }
      })
    }
    let roots = parts
    while (roots.length > 1) {
      const children = roots.map((content) => {
        const own = nextPage++
        written.set(own, encodePage(content))
        return own
      })
      roots = split({
        height: roots[0]!.height + 1,
        keys: roots.map((content) => content.keys[0]!),
        children,
        nextPage: 0,
      })
    }
    const root = roots[0] ?? { height: 0, keys: [], children: [], nextPage: 0 }
    written.set(ROOT, encodePage({ ...root, nextPage }))
    return []
  }

  const mergeInner = (page: Page, part: readonly DirectoryChange[]): Page => {
    const keys: Uint8Array[] = []
    const children: number[] = []
    let from = 0
    for (let i = 0; i < page.keys.length; i++) {
      const bound = page.keys[i + 1]
      let to = from
      while (to < part.length && (bound === undefined || compareBytes(part[to]!.key, bound) < 0)) to++
      if (to === from) {
        keys.push(page.keys[i]!)
        children.push(page.children[i]!)
      } else {
        for (const child of update(page.children[i]!, part.slice(from, to))) {
          keys.push(child.key)
          children.push(child.page)
        }
      }
      from = to
    }
    return { height: children.length === 0 ? 0 : page.height, keys, children, nextPage: 0 }
  }

  update(ROOT, changes)
  return written
}

function mergeLeaf(page: Page, changes: readonly DirectoryChange[]): Page {
  const keys: Uint8Array[] = []
  let at = 0
  for (const { key, present } of changes) {
    while (at < page.keys.length && compareBytes(page.keys[at]!, key) < 0) keys.push(page.keys[at++]!)
    if (at < page.keys.length && compareBytes(page.keys[at]!, key) === 0) at++
    if (present) keys.push(key)
  }
  while (at < page.keys.length) keys.push(page.keys[at++]!)
  return { height: 0, keys, children: [], nextPage: 0 }
}

/**
 * Returns the page itself when it is small enough, otherwise its parts; empty for an empty page.
 */
function split(page: Page): Page[] {
  if (page.keys.length === 0) return []
  if (encodePage(page).length <= PAGE_BYTES) return [page]
  const parts: Page[] = []
  let from = 0
  let size = 0
  const cut = (to: number) => {
    parts.push({ ...page, keys: page.keys.slice(from, to), children: page.children.slice(from, to) })
    from = to
    size = 0
  }
  for (let i = 0; i < page.keys.length; i++) {
    const cost = keyCost(page.keys[i]!, i === from ? undefined : page.keys[i - 1]!)
    if (size + cost > FILL_BYTES && i > from) cut(i)
    size += cost + overhead(page.height)
  }
  cut(page.keys.length)
  return parts
}

/** Bytes that a key takes after the one before it on its page. */
function keyCost(key: Uint8Array, previous: Uint8Array | undefined): number {
  return previous === undefined ? key.length : key.length - sharedPrefix(previous, key)
}

/**
 * Returns the approximate bytes of a key in a page besides the key itself: two lengths, and above
 * the leaves the number of a child.
 */
function overhead(height: number): number {
  return height === 0 ? 2 : 6
}

/**
 * Builds the directory of keys that come in ascending order, with pages filled as `split` fills
 * them. It holds one page of each height, and writes each page once, the root last.
 */
export class DirectoryBuilder {
  readonly #write: (page: number, bytes: Uint8Array) => void
  /** the pages that are being filled, by height */
  readonly #open: { keys: Uint8Array[]; children: number[]; size: number }[] = []
  #nextPage = ROOT + 1

  constructor(write: (page: number, bytes: Uint8Array) => void) {
    this.#write = write
  }

  /** @param key above all that were added before */
  add(key: Uint8Array): void {
    this.#add(0, key)
  }

  /** Writes the remaining pages. Without keys it writes nothing. */
  finish(): void {
    for (let height = 0; height < this.#open.length - 1; height++) this.#flush(height)
    const root = this.#open.at(-1)
    if (root === undefined) return
    const { keys, children } = root
    this.#write(ROOT, encodePage({ height: this.#open.length - 1, keys, children, nextPage: this.#nextPage }))
  }

  #add(height: number, key: Uint8Array, child?: number): void {
    const full = this.#open[height]
    if (full !== undefined && full.size + keyCost(key, full.keys.at(-1)) > FILL_BYTES) this.#flush(height)
    this.#open[height] ??= { keys: [], children: [], size: 0 }
    const page = this.#open[height]
    page.size += keyCost(key, page.keys.at(-1)) + overhead(height)
    page.keys.push(key)
    if (child !== undefined) page.children.push(child)
  }

  /** Writes the page of this height, which has a key, and starts another one. */
  #flush(height: number): void {
    const { keys, children } = this.#open[height]!
    this.#open[height] = { keys: [], children: [], size: 0 }
    const number = this.#nextPage++
    this.#write(number, encodePage({ height, keys, children, nextPage: 0 }))
    this.#add(height + 1, keys[0]!, number)
  }
}

function loadPage(readPage: PageReader, number: number): Page {
  const bytes = pageBytes(readPage, number)
  return bytes === undefined ? { height: 0, keys: [], children: [], nextPage: 1 } : decodePage(bytes)
}

/** Undefined for the root of an empty set. */
function pageBytes(readPage: PageReader, number: number): Uint8Array | undefined {
  const bytes = readPage(number)
  if (bytes !== undefined && bytes.length > 0) return bytes
  if (number !== ROOT) throw damagedContents('a page of the native directory is missing')
  return undefined
}

/** Height, next page number, then each key as `writeKey` writes it; above the leaves each with its child. */
function encodePage(page: Page): Uint8Array {
  const out = new ByteWriter()
  out.varint(page.height)
  out.varint(page.nextPage)
  let previous: Uint8Array = EMPTY_BYTES
  page.keys.forEach((key, i) => {
    writeKey(out, key, previous)
    if (page.height > 0) out.varint(page.children[i]!)
    previous = key
  })
  return out.finish()
}

function decodePage(bytes: Uint8Array): Page {
  const reader = new VarintReader(bytes)
  const height = reader.next()
  const nextPage = reader.next()
  const keys: Uint8Array[] = []
  const children: number[] = []
  let previous: Uint8Array = EMPTY_BYTES
  while (!reader.done) {
    const key = readKey(reader, previous)
    keys.push(key)
    if (height > 0) children.push(reader.next())
    previous = key
  }
  return { height, keys, children, nextPage }
}
