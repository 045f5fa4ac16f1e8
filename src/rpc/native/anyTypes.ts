import type { AnyMessageType, JsonContext } from '../../primitives/protoScalars.ts'

/** What may stand behind an Any in answers and in requests. */
const TYPES: readonly AnyMessageType[] = []

const BY_URL: ReadonlyMap<string, AnyMessageType> = new Map(TYPES.map((type) => [type.typeUrl, type]))

/** Shows what is inside of an Any. */
export const JSON_TYPES_OF_ANY: JsonContext = { typeOf: (typeUrl) => BY_URL.get(typeUrl) }
