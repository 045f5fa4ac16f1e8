/**
 * What the program below asks its host for, with addresses, slots and other bytes in hex without a prefix. Bytes come as an ArrayBuffer, which
 * lies outside of the heap that has a limit: the program copies it at once.
 */
export interface HostFunctions {
  readonly fail: (message: string) => never
  /** source of big-integer */
  readonly library: () => string
  /** of what runs: decimal words, bytes, geth's message */
  readonly stack: (index: number) => string
  readonly memory: (offset: number, length: number) => Uint8Array
  readonly caller: () => Uint8Array
  readonly address: () => Uint8Array
  readonly callValue: () => string
  readonly callInput: () => Uint8Array
  readonly error: () => string | undefined
  /** of the call that begins or ends: JSON, bytes */
  readonly frame: () => string
  readonly frameInput: () => Uint8Array
  readonly output: () => Uint8Array
  /** of accounts: decimal coins, bytes */
  readonly balance: (address: string) => string
  readonly nonce: (address: string) => number
  readonly code: (address: string) => Uint8Array
  readonly storage: (address: string, slot: string) => Uint8Array
  readonly exists: (address: string) => boolean
  readonly isPrecompiled: (address: string) => boolean
  readonly createAddress: (creator: string, nonce: number) => Uint8Array
  readonly create2Address: (creator: string, salt: string, initCode: string) => Uint8Array
}

/**
 * What a sandbox runs before a tracer: the functions and objects that tracers of geth have (eth/tracers/js/goja.go), in JavaScript of the
 * sandbox's own. Functions of the host and the names of opcodes come in; functions that the host calls go out. The tracer
 * shares its realm with this program and can break it, but only for itself: the host trusts nothing that comes from here.
 */
export const PRELUDE = `(function (host, opcodeNames) {
  'use strict'
  const evaluate = eval
  const stringify = JSON.stringify
  const Bytes = Uint8Array
  const names = opcodeNames.split(',')
  let now = { pc: 0, op: 0, gas: 0, cost: 0, depth: 0, refund: 0, stackLength: 0, memoryLength: 0, failed: false }
  const digits = []
  for (let byte = 0; byte < 256; byte++) digits.push((byte < 16 ? '0' : '') + byte.toString(16))

  let library
  const bigInt = () => (library ??= evaluate('(function () {' + host.library() + '\\n;return bigInt})()'))
  const toBig = (decimal) => bigInt()(decimal)
  Object.defineProperty(globalThis, 'bigInt', {
    configurable: true,
    enumerable: true,
    get: bigInt,
    set: (value) => Object.defineProperty(globalThis, 'bigInt', { value, writable: true }),
  })

  const hexOf = (bytes) => {
    let text = ''
    for (let index = 0; index < bytes.length; index++) text += digits[bytes[index]]
    return text
  }
  const fromHex = (text) => {
    let hex = /^0x/i.test(text) ? text.slice(2) : text
    if (hex.length % 2 === 1) hex = '0' + hex
    const end = hex.search(/[^0-9a-f]/i)
    const bytes = new Bytes((end < 0 ? hex.length : end) >> 1)
    for (let index = 0; index < bytes.length; index++) bytes[index] = parseInt(hex.slice(2 * index, 2 * index + 2), 16)
    return bytes
  }
  const fromBuf = (value, allowsText) => {
    if (allowsText && (typeof value === 'string' || value instanceof String)) return fromHex(String(value))
    if (Array.isArray(value)) return Bytes.from(value)
    if (value?.constructor === Bytes) return value
    throw host.fail('invalid buffer type')
  }
  const padded = (bytes, length) => {
    const out = new Bytes(length)
    const tail = bytes.length > length ? bytes.slice(bytes.length - length) : bytes
    out.set(tail, length - tail.length)
    return out
  }
  const addressOf = (value, allowsText) => hexOf(padded(fromBuf(value, allowsText), 20))
  const toInt = (value) => Math.trunc(Number(value)) || 0
  const buf = (buffer) => new Bytes(new Bytes(buffer))

  const globals = {
    toHex: (value) => '0x' + hexOf(fromBuf(value, false)),
    toWord: (value) => padded(fromBuf(value, true), 32),
    toAddress: (value) => padded(fromBuf(value, true), 20),
    toContract: (from, nonce) => buf(host.createAddress(addressOf(from, true), toInt(nonce))),
    toContract2: (from, salt, initCode) =>
      buf(host.create2Address(addressOf(from, true), hexOf(padded(fromHex(String(salt)), 32)), hexOf(fromBuf(initCode, true)))),
    isPrecompiled: (address) => host.isPrecompiled(addressOf(address, true)),
    slice: (value, start, end) => {
      const bytes = fromBuf(value, false)
      const [from, to] = [toInt(start), toInt(end)]
      if (from < 0 || from > to || to > bytes.length) {
        throw host.fail('Tracer accessed out of bound memory: available ' + bytes.length + ', offset ' + from + ', size ' + (to - from))
      }
      return bytes.slice(from, to)
    },
  }
  for (const name of Object.keys(globals)) {
    Object.defineProperty(globalThis, name, { value: globals[name], writable: true, configurable: true, enumerable: true })
  }

  const log = {
    getPC: () => now.pc,
    getGas: () => now.gas,
    getCost: () => now.cost,
    getDepth: () => now.depth,
    getRefund: () => now.refund,
    getError: () => (now.failed ? host.error() : undefined),
    op: {
      toNumber: () => now.op,
      toString: () => names[now.op],
      isPush: () => now.op >= 0x5f && now.op <= 0x7f,
    },
    stack: {
      peek: (index) => {
        const [size, at] = [now.stackLength, toInt(index)]
        if (at >= size || at < 0) throw host.fail('tracer accessed out of bound stack: size ' + size + ', index ' + at)
        return toBig(host.stack(at))
      },
      length: () => now.stackLength,
    },
    memory: {
      slice: (begin, end) => {
        const [from, to] = [toInt(begin), toInt(end)]
        if (from === to) return new Bytes(0)
        if (to < from || from < 0) throw host.fail('tracer accessed out of bound memory: offset ' + from + ', end ' + to)
        return buf(host.memory(from, to - from))
      },
      getUint: (offset) => {
        const [size, at] = [now.memoryLength, toInt(offset)]
        if (size < at + 32 || at < 0) {
          throw host.fail('tracer accessed out of bound memory: available ' + size + ', offset ' + at + ', size 32')
        }
        return toBig(BigInt('0x' + hexOf(buf(host.memory(at, 32)))).toString())
      },
      length: () => now.memoryLength,
    },
    contract: {
      getCaller: () => buf(host.caller()),
      getAddress: () => buf(host.address()),
      getValue: () => toBig(host.callValue()),
      getInput: () => buf(host.callInput()),
    },
  }
  const db = {
    getBalance: (address) => toBig(host.balance(addressOf(address, false))),
    getNonce: (address) => host.nonce(addressOf(address, false)),
    getCode: (address) => buf(host.code(addressOf(address, false))),
    getState: (address, slot) => buf(host.storage(addressOf(address, false), hexOf(padded(fromBuf(slot, false), 32)))),
    exists: (address) => host.exists(addressOf(address, false)),
  }
  let entered
  const frame = {
    getType: () => entered.type,
    getFrom: () => buf(fromHex(entered.from)),
    getTo: () => buf(fromHex(entered.to)),
    getInput: () => buf(host.frameInput()),
    getGas: () => entered.gas,
    getValue: () => (entered.value === undefined ? undefined : toBig(entered.value)),
  }
  let gasUsed = 0
  const frameResult = {
    getGasUsed: () => gasUsed,
    getOutput: () => buf(host.output()),
    getError: () => host.error(),
  }

  let tracer
  const isFunction = (name) => typeof tracer[name] === 'function'
  const api = {
    open(value, config) {
      if (value === null || value === undefined) throw new TypeError('Cannot convert undefined or null to object')
      tracer = Object(value)
      for (const name of ['result', 'fault']) {
        if (!isFunction(name)) throw host.fail('trace object must expose a function ' + name + '()')
      }
      if (isFunction('enter') !== isFunction('exit')) {
        throw host.fail('trace object must expose either both or none of enter() and exit()')
      }
      const has = (isFunction('step') ? 1 : 0) | (isFunction('enter') ? 2 : 0)
      const { step, fault, enter, exit, result, setup } = tracer
      const show = (callee) => (pc, op, gas, cost, depth, refund, stackLength, memoryLength, failed) => {
        now = { pc, op, gas, cost, depth, refund, stackLength, memoryLength, failed: failed === 1 }
        callee.call(tracer, log, db)
      }
      api.step = show(step)
      api.fault = show(fault)
      api.enter = () => {
        entered = JSON.parse(host.frame())
        enter.call(tracer, frame)
      }
      api.exit = (used) => {
        gasUsed = used
        exit.call(tracer, frameResult)
      }
      api.result = (fields) => {
        const ctx = JSON.parse(fields)
        for (const name of ['blockHash', 'txHash', 'coinbase', 'from', 'to', 'input', 'output']) {
          if (ctx[name] !== undefined) ctx[name] = fromHex(ctx[name])
        }
        for (const name of ['gasPrice', 'value']) if (ctx[name] !== undefined) ctx[name] = toBig(ctx[name])
        const answer = result.call(tracer, ctx, db)
        return answer === undefined ? '{}' : (stringify(answer) ?? 'null')
      }
      if (typeof setup === 'function') setup.call(tracer, config)
      return has
    },
  }
  return api
})`
