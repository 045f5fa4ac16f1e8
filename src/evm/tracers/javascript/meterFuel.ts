/** Name of the exported global that the metered code counts down: an i32, whose owner sets it before each use. */
export const FUEL = 'fuel'

const GLOBAL_SECTION = 6
const EXPORT_SECTION = 7
const CODE_SECTION = 10
const IMPORT_SECTION = 2

const I32 = 0x7f
const MUTABLE = 1
const EMPTY_BLOCK = 0x40
const OP_UNREACHABLE = 0x00
const OP_LOOP = 0x03
const OP_IF = 0x04
const OP_END = 0x0b
const OP_GLOBAL_GET = 0x23
const OP_GLOBAL_SET = 0x24
const OP_I32_CONST = 0x41
const OP_I32_LT_S = 0x48
const OP_I32_SUB = 0x6b
const OP_I32_SHR_U = 0x76
const OP_PREFIXED = 0xfc
const MEMORY_COPY = 10
const MEMORY_FILL = 11
/** Fuel before the owner sets it, as code may run while the module is instantiated: the largest i32, as LEB128. */
const MOST_FUEL = [0xff, 0xff, 0xff, 0xff, 0x07]
/** bytes that are copied or filled for a unit of fuel, as a power of two */
const BYTES_SHIFT = 6

/**
 * Rewrites a WebAssembly module so that nothing in it runs without end. Each turn of a loop, each
 * call of a function and each 64 bytes that are copied or filled take a unit of the global
 * {@link FUEL}; code traps when there is no fuel left. An interpreter asks its host now and then whether
 * to continue, but not within one of its own functions, such as a search in a sparse array of four
 * billion places.
 * The binary format is that of the WebAssembly specification 2.0, without vectors.
 * @throws Error for an instruction that is not known here
 */
export function meterFuel(module: Uint8Array): Uint8Array {
  const sections = readSections(module)
  const globals = countGlobals(sections)
  const meter = { fuel: globals, scratch: globals + 1 }
  const out = new Writer()
  out.bytes(module.subarray(0, 8))
  for (const { id, body } of sections) {
    const rewritten = rewriteSection(id, body, meter)
    out.byte(id)
    out.unsigned(rewritten.length)
    out.bytes(rewritten)
  }
  return out.done()
}

interface Section {
  readonly id: number
  readonly body: Uint8Array
}

/** Indices of the globals that are added: the fuel, and a length while it is on its way. */
interface Meter {
  readonly fuel: number
  readonly scratch: number
}

function readSections(module: Uint8Array): Section[] {
  const reader = new Reader(module, 8)
  const sections: Section[] = []
  while (!reader.isAtEnd()) {
    const id = reader.byte()
    const length = reader.unsigned()
    sections.push({ id, body: reader.take(length) })
  }
  if (!sections.some(({ id }) => id === GLOBAL_SECTION)) throw new Error('the module has no section of globals')
  return sections
}

function countGlobals(sections: readonly Section[]): number {
  const imported = sections.find(({ id }) => id === IMPORT_SECTION)
  if (imported !== undefined && importsGlobal(imported.body)) throw new Error('the module imports a global')
  return new Reader(sections.find(({ id }) => id === GLOBAL_SECTION)!.body).unsigned()
}

function importsGlobal(body: Uint8Array): boolean {
  const reader = new Reader(body)
  for (let count = reader.unsigned(); count > 0; count--) {
    reader.take(reader.unsigned())
    reader.take(reader.unsigned())
    const kind = reader.byte()
    if (kind === 3) return true
    if (kind === 1) reader.byte()
    if (kind === 0) reader.unsigned()
    else skipLimits(reader)
  }
  return false
}

function skipLimits(reader: Reader): void {
  const hasMaximum = (reader.byte() & 1) !== 0
  reader.unsigned()
  if (hasMaximum) reader.unsigned()
}

function rewriteSection(id: number, body: Uint8Array, meter: Meter): Uint8Array {
  if (id === CODE_SECTION) return rewriteCode(body, meter)
  if (id !== GLOBAL_SECTION && id !== EXPORT_SECTION) return body
  const reader = new Reader(body)
  const count = reader.unsigned()
  const out = new Writer()
  out.unsigned(count + (id === GLOBAL_SECTION ? 2 : 1))
  out.bytes(reader.rest())
  if (id === GLOBAL_SECTION) {
    for (let added = 0; added < 2; added++) {
      out.bytes(Uint8Array.of(I32, MUTABLE, OP_I32_CONST, ...MOST_FUEL, OP_END))
    }
  } else {
    const name = new TextEncoder().encode(FUEL)
    out.unsigned(name.length)
    out.bytes(name)
    out.byte(3)
    out.unsigned(meter.fuel)
  }
  return out.done()
}

function rewriteCode(body: Uint8Array, meter: Meter): Uint8Array {
  const reader = new Reader(body)
  const count = reader.unsigned()
  const out = new Writer()
  out.unsigned(count)
  for (let index = 0; index < count; index++) {
    const rewritten = rewriteFunction(reader.take(reader.unsigned()), meter)
    out.unsigned(rewritten.length)
    out.bytes(rewritten)
  }
  return out.done()
}

function rewriteFunction(body: Uint8Array, meter: Meter): Uint8Array {
  const reader = new Reader(body)
  const out = new Writer()
  const one = takeFuel(meter, Uint8Array.of(OP_I32_CONST, 1))
  const bytes = takeBytes(meter)
  for (let groups = reader.unsigned(); groups > 0; groups--) {
    reader.unsigned()
    reader.byte()
  }
  out.bytes(body.subarray(0, reader.at))
  out.bytes(one)
  while (!reader.isAtEnd()) {
    const start = reader.at
    const opcode = reader.byte()
    const sub = skipImmediates(reader, opcode)
    if (opcode === OP_PREFIXED && (sub === MEMORY_COPY || sub === MEMORY_FILL)) out.bytes(bytes)
    out.bytes(body.subarray(start, reader.at))
    if (opcode === OP_LOOP) out.bytes(one)
  }
  return out.done()
}

/** Returns instructions that take as much fuel as `amount` leaves on the stack, and trap when there is less. */
function takeFuel({ fuel }: Meter, amount: Uint8Array): Uint8Array {
  const out = new Writer()
  out.byte(OP_GLOBAL_GET)
  out.unsigned(fuel)
  out.bytes(amount)
  out.bytes(Uint8Array.of(OP_I32_SUB, OP_GLOBAL_SET))
  out.unsigned(fuel)
  out.byte(OP_GLOBAL_GET)
  out.unsigned(fuel)
  out.bytes(Uint8Array.of(OP_I32_CONST, 0, OP_I32_LT_S, OP_IF, EMPTY_BLOCK, OP_UNREACHABLE, OP_END))
  return out.done()
}

/** Emits the same for the number of bytes on top of the stack, which stays there. */
function takeBytes(meter: Meter): Uint8Array {
  const scratch = new Writer()
  scratch.unsigned(meter.scratch)
  const index = scratch.done()
  const amount = Uint8Array.of(OP_GLOBAL_GET, ...index, OP_I32_CONST, BYTES_SHIFT, OP_I32_SHR_U)
  return Uint8Array.of(OP_GLOBAL_SET, ...index, ...takeFuel(meter, amount), OP_GLOBAL_GET, ...index)
}

/** Opcodes by what follows them. */
const ONE_INDEX = new Set([0x0c, 0x0d, 0x10, 0x20, 0x21, 0x22, OP_GLOBAL_GET, OP_GLOBAL_SET, 0x25, 0x26, 0xd2])
const BLOCKS = new Set([0x02, OP_LOOP, OP_IF])
/** of prefixed ones: how many indices */
const PREFIXED_INDICES: readonly number[] = [0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2, 1, 2, 1, 2, 1, 1, 1]

/** Skips what belongs to an instruction. @returns the second opcode of a prefixed one */
function skipImmediates(reader: Reader, opcode: number): number | undefined {
  if (BLOCKS.has(opcode) || opcode === OP_I32_CONST || opcode === 0x42) reader.signed()
  else if (ONE_INDEX.has(opcode)) reader.unsigned()
  else if (opcode === 0x0e) for (let labels = reader.unsigned() + 1; labels > 0; labels--) reader.unsigned()
  else if (opcode === 0x11 || (opcode >= 0x28 && opcode <= 0x3e)) {
    reader.unsigned()
    reader.unsigned()
  } else if (opcode === 0x3f || opcode === 0x40 || opcode === 0xd0) reader.byte()
  else if (opcode === 0x43) reader.take(4)
  else if (opcode === 0x44) reader.take(8)
  else if (opcode === 0x1c) reader.take(reader.unsigned())
  else if (opcode === OP_PREFIXED) return skipPrefixed(reader)
  else if (!isPlain(opcode)) throw new Error(`unknown instruction 0x${opcode.toString(16)}`)
  return undefined
}

function skipPrefixed(reader: Reader): number {
  const sub = reader.unsigned()
  const indices = PREFIXED_INDICES[sub]
  if (indices === undefined) throw new Error(`unknown instruction 0xfc ${sub}`)
  for (let index = 0; index < indices; index++) reader.unsigned()
  return sub
}

/**
 * Returns whether the opcode is control without immediates, parametric, a comparison, arithmetic, a
 * sign extension or `ref.is_null`.
 */
function isPlain(opcode: number): boolean {
  if (opcode <= 0x01 || opcode === 0x05 || opcode === OP_END || opcode === 0x0f) return true
  return opcode === 0x1a || opcode === 0x1b || (opcode >= 0x45 && opcode <= 0xc4) || opcode === 0xd1
}

class Reader {
  at: number
  readonly #bytes: Uint8Array

  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = bytes
    this.at = at
  }

  isAtEnd(): boolean {
    return this.at >= this.#bytes.length
  }

  byte(): number {
    const byte = this.#bytes[this.at++]
    if (byte === undefined) throw new Error('the module ends too early')
    return byte
  }

  /** Reads LEB128 of at most 32 bits. */
  unsigned(): number {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = this.byte()
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value
    }
  }

  /** skips a signed LEB128 */
  signed(): void {
    while (this.byte() >= 0x80);
  }

  take(length: number): Uint8Array {
    this.at += length
    return this.#bytes.subarray(this.at - length, this.at)
  }

  rest(): Uint8Array {
    return this.take(this.#bytes.length - this.at)
  }
}

class Writer {
  #bytes = new Uint8Array(1024)
  #length = 0

  byte(byte: number): void {
    this.bytes(Uint8Array.of(byte))
  }

  unsigned(value: number): void {
    let rest = value
    for (; rest >= 0x80; rest = Math.floor(rest / 128)) this.byte((rest & 0x7f) | 0x80)
    this.byte(rest)
  }

  bytes(bytes: Uint8Array): void {
    if (this.#length + bytes.length > this.#bytes.length) {
      const longer = new Uint8Array(2 * (this.#length + bytes.length))
      longer.set(this.#bytes)
      this.#bytes = longer
    }
    this.#bytes.set(bytes, this.#length)
    this.#length += bytes.length
  }

  done(): Uint8Array {
    return this.#bytes.slice(0, this.#length)
  }
}
