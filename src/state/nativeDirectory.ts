import { compareBytes, EMPTY_BYTES } from '../primitives/bytes.ts'
import { prefixEnd } from '../storage/columns.ts'
import { damagedContents } from '../storage/damage.ts'
import { ByteWriter, readKey, sharedPrefix, VarintReader, writeKey } from './varint.ts'

/*
 * The sorted set of the native modules' raw keys, as a B+ tree of small pages. Keys with a prefix are found by reading pages,
 * without range reads of the database. Each page is a flat entry with a history, so this works at any height that is kept. Page 0
 * is the root. Pages are split when they grow too large and removed when they are empty; half-empty pages are not merged.
 */

/** Largest page in bytes. Pages are small, because a change adds the whole former page to the history. */
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

/** Reads the bytes of a page; undefined or no bytes when there is none. */
type PageReader = (page: number) => Uint8Array | undefined

/**
 * Raw keys with `prefix` from `start` on, ascending, or with `reverse` from `start` down. Each page is read when it is reached.
 * @param start included; by default the first key with the prefix (with `reverse` the last one)
 */
export function* walkKeys(
  readPage: PageReader,
  prefix: Uint8Array,
  start?: Uint8Array,
  reverse = false,
): Generator<Uint8Array, void, void> {
  const bound = prefixEnd(prefix)
  const low = reverse || start === undefined || compareBytes(start, prefix) < 0 ? prefix : start
  const isBelow = (key: Uint8Array) => compareBytes(key, low) < 0
  const isAbove = (key: Uint8Array) =>
    (bound !== undefined && compareBytes(key, bound) >= 0) ||
    (reverse && start !== undefined && compareBytes(key, start) > 0)

  function* walk(number: number): Generator<Uint8Array, void, void> {
    const { height, keys, children } = loadPage(readPage, number)
    // A child's keys are from its own bound (which may be below its first key) up to the bound of the next child.
    const first =
      height === 0 ? countWhile(keys, isBelow) : Math.max(countWhile(keys, (key) => compareBytes(key, low) <= 0) - 1, 0)
    const end = countWhile(keys, (key) => !isAbove(key))
    for (let step = 0; step < end - first; step++) {
      const i = reverse ? end - 1 - step : first + step
      if (height === 0) yield keys[i]!
      else yield* walk(children[i]!)
    }
  }
  yield* walk(ROOT)
}

/** The number of leading keys that meet a condition, which no later key meets. */
function countWhile(keys: readonly Uint8Array[], meets: (key: Uint8Array) => boolean): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (meets(keys[middle]!)) low = middle + 1
    else high = middle
  }
  return low
}

/** A raw key that is new in the set, or removed from it. */
interface DirectoryChange {
  readonly key: Uint8Array
  readonly present: boolean
}

/** New bytes of the pages that `changes` (sorted by key) affect; no bytes: the page is deleted. */
export function updateDirectory(readPage: PageReader, changes: readonly DirectoryChange[]): Map<number, Uint8Array> {
  const written = new Map<number, Uint8Array>()
  if (changes.length === 0) return written
  let { nextPage } = loadPage(readPage, ROOT)

  /** Applies changes to the subtree of a page. Gives the pages that replace it, with the lower bound of each. */
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

/** The page itself when it is small enough, otherwise its parts; empty for an empty page. */
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

/** About what a key of a page takes besides its bytes: two lengths, and above the leaves the number of a child. */
function overhead(height: number): number {
  return height === 0 ? 2 : 6
}

/**
 * Makes the directory of keys that come in ascending order, with pages filled as `split` fills them. It holds one page of each height, and
 * gives each page once, the root last.
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

  /** Gives the pages that are left. Without keys there are none. */
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

  /** Gives the page of this height, which has a key, and begins another one. */
  #flush(height: number): void {
    const { keys, children } = this.#open[height]!
    this.#open[height] = { keys: [], children: [], size: 0 }
    const number = this.#nextPage++
    this.#write(number, encodePage({ height, keys, children, nextPage: 0 }))
    this.#add(height + 1, keys[0]!, number)
  }
}

function loadPage(readPage: PageReader, number: number): Page {
  const bytes = readPage(number)
  if (bytes !== undefined && bytes.length > 0) return decodePage(bytes)
  if (number !== ROOT) throw damagedContents('a page of the native directory is missing')
  return { height: 0, keys: [], children: [], nextPage: 1 }
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

/** The pages that were decoded last, by their bytes (caches return the same array). Most walks read the same few pages. */
const decoded = new Map<Uint8Array, Page>()
/** About 3 MB in all. */
const MAX_DECODED = 256

function decodePage(bytes: Uint8Array): Page {
  const known = decoded.get(bytes)
  if (known !== undefined) return known
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
  const page: Page = { height, keys, children, nextPage }
  if (decoded.size === MAX_DECODED) decoded.delete(decoded.keys().next().value!)
  decoded.set(bytes, page)
  return page
}
