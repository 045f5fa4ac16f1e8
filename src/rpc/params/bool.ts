import type { ParamReader } from '../method.ts'
import { jsonKind, TypeMismatch } from './mismatch.ts'

export const readBool: ParamReader<boolean> = (json) => {
  if (typeof json !== 'boolean') throw new TypeMismatch(jsonKind(json), 'bool')
  return json
}
