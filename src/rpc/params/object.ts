import { InvalidArgument } from '../errors.ts'
import type { ParamReader } from '../method.ts'
import { jsonKind, TypeMismatch } from './mismatch.ts'

export type FieldReaders = Readonly<Record<string, ParamReader<unknown>>>

export type FieldsOf<F extends FieldReaders> = {
  readonly [K in keyof F]?: F[K] extends ParamReader<infer T> ? T | undefined : never
}

/**
 * A reader of a JSON object: a field that is absent or null is absent in the result, and unknown keys are ignored
 * (clients send extras). `structName` and `goType` go into errors as Go writes them.
 */
export function objectReader<F extends FieldReaders>(
  structName: string,
  goType: string,
  fields: F,
): ParamReader<FieldsOf<F>> {
  const readers = Object.entries(fields)
  return (json) => {
    if (typeof json !== 'object' || json === null || Array.isArray(json)) {
      throw new TypeMismatch(jsonKind(json), goType)
    }
    const source = json as Readonly<Record<string, unknown>>
    const out: Record<string, unknown> = {}
    for (const [name, read] of readers) {
      const value = Object.hasOwn(source, name) ? source[name] : undefined
      if (value === undefined || value === null) continue
      out[name] = readField(structName, name, read, value)
    }
    return out as FieldsOf<F>
  }
}

function readField(structName: string, name: string, read: ParamReader<unknown>, value: unknown): unknown {
  try {
    return read(value)
  } catch (error) {
    if (!(error instanceof TypeMismatch)) throw error
    throw new TypeMismatch(error.found, error.goType, `struct field ${structName}.${name}`)
  }
}

/**
 * A reader of a JSON array; `goType` is that of the array.
 * @throws InvalidArgument from the reader with `tooMany` when there are more than `max` items
 */
export function listReader<T>(
  read: ParamReader<T>,
  goType: string,
  max = Number.POSITIVE_INFINITY,
  tooMany = 'too many items',
): ParamReader<readonly T[]> {
  return (json) => {
    if (!Array.isArray(json)) throw new TypeMismatch(jsonKind(json), goType)
    if (json.length > max) throw new InvalidArgument(tooMany)
    return json.map((item: unknown) => read(item))
  }
}

/** A reader of a JSON object with free keys; null values are left out. */
export function recordReader<K, V>(
  readKey: ParamReader<K>,
  readValue: ParamReader<V>,
  goType: string,
): ParamReader<readonly (readonly [K, V])[]> {
  return (json) => {
    if (typeof json !== 'object' || json === null || Array.isArray(json)) {
      throw new TypeMismatch(jsonKind(json), goType)
    }
    return Object.entries(json)
      .filter(([, value]) => value !== null)
      .map(([key, value]) => [readKey(key), readValue(value)] as const)
  }
}
