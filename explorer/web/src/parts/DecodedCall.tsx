import type { Decoded } from '../abi/decode.ts'
import { AddressLink } from './Names.tsx'

/* Calls, logs and errors by their names. Values are untrusted data, shown as text. */

/** Entries of a list that are shown. */
const MAX_ENTRIES = 50

/** A name with its fields, one per line; the fields alone if there is no name. */
export function DecodedFields({ decoded }: { readonly decoded: Decoded }) {
  return (
    <div className="decoded">
      {decoded.name !== '' && <b className="mono">{decoded.name}</b>}
      {decoded.fields.length > 0 && (
        <dl>
          {decoded.fields.map(({ name, type, value }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: fields may have no name
            <div key={index}>
              <dt>
                {name} <span className="type">{type}</span>
              </dt>
              <dd>
                <DecodedValue value={value} type={type} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  )
}

function DecodedValue({ value, type }: { readonly value: unknown; readonly type: string }) {
  if (Array.isArray(value)) {
    const inner = type.replace(/\[\d*\]$/, '')
    return (
      <ul className="values">
        {value.slice(0, MAX_ENTRIES).map((entry, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: entries of a list have no name but their order
          <li key={index}>
            <DecodedValue value={entry} type={inner} />
          </li>
        ))}
        {value.length > MAX_ENTRIES && <li>… {value.length - MAX_ENTRIES} more</li>}
      </ul>
    )
  }
  if (typeof value === 'object' && value !== null) {
    return (
      <ul className="values">
        {Object.entries(value).map(([name, entry]) => (
          <li key={name}>
            {name}: <DecodedValue value={entry} type="" />
          </li>
        ))}
      </ul>
    )
  }
  const text = String(value)
  return /^0x[0-9a-fA-F]{40}$/.test(text) && type !== 'string' ? (
    <AddressLink address={text} isShort={false} />
  ) : (
    <span className="mono">{text}</span>
  )
}
