import { OP } from '../../src/evm/opcodes.ts'

/** A place in the code that is known when the code is finished. */
type Label = { at: number }

/** Writes EVM code: opcodes, pushes, labels, and data behind the code. */
export interface CodeWriter {
  readonly length: () => number
  op(...opcodes: number[]): void
  /** The shortest PUSH of `value`, or one of `width` bytes. */
  push(value: bigint, width?: number): void
  pushLabel(label: Label): void
  /** A JUMPDEST at the label. */
  mark(label: Label): void
  /** Bytes behind the code; the label is where they begin. */
  data(bytes: Uint8Array): Label
  finish(): Uint8Array
}

export function createLabel(): Label {
  return { at: 0 }
}

export function createCodeWriter(): CodeWriter {
  const bytes: number[] = []
  const uses: { readonly offset: number; readonly label: Label }[] = []
  const appended: { readonly bytes: Uint8Array; readonly label: Label }[] = []

  const push = (value: bigint, width?: number): void => {
    const hex = value === 0n ? '' : value.toString(16)
    const length = width ?? Math.ceil(hex.length / 2)
    bytes.push(OP.PUSH0 + length)
    for (let i = length - 1; i >= 0; i--) bytes.push(Number((value >> BigInt(8 * i)) & 0xffn))
  }
  return {
    length: () => bytes.length,
    op: (...opcodes) => {
      bytes.push(...opcodes)
    },
    push,
    pushLabel: (label) => {
      uses.push({ offset: bytes.length + 1, label })
      push(0n, 2)
    },
    mark: (label) => {
      label.at = bytes.length
      bytes.push(OP.JUMPDEST)
    },
    data: (content) => {
      const label = createLabel()
      appended.push({ bytes: content, label })
      return label
    },
    finish: () => {
      for (const { bytes: content, label } of appended) {
        label.at = bytes.length
        for (const byte of content) bytes.push(byte)
      }
      for (const { offset, label } of uses) {
        bytes[offset] = label.at >> 8
        bytes[offset + 1] = label.at & 0xff
      }
      return Uint8Array.from(bytes)
    },
  }
}
