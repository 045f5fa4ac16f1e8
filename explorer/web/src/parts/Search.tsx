import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { type Found, search } from '../api.ts'
import { shorten } from '../format.ts'

const PATHS = {
  block: '/block/',
  transaction: '/tx/',
  address: '/address/',
  token: '/token/',
  validator: '/validator/',
} as const satisfies Record<Found['kind'], string>

/** The search: Enter opens the only result, or lists several. The key / moves the focus to it. */
export function Search() {
  const navigate = useNavigate()
  const input = useRef<HTMLInputElement>(null)
  const [problem, setProblem] = useState<string>()
  const [several, setSeveral] = useState<readonly Found[]>([])

  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      const isTyping = event.target instanceof HTMLElement && event.target.matches('input, textarea, select')
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey) return
      event.preventDefault()
      input.current?.focus()
    }
    addEventListener('keydown', focus)
    return () => removeEventListener('keydown', focus)
  }, [])

  const find = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    const text = input.current?.value.trim() ?? ''
    if (text === '') return
    try {
      const found = await search(text)
      const [first] = found
      if (first === undefined)
        return setProblem(
          'Not found. Enter a height, a hash, an address (0x… or coin1…), or the name of a token or validator.',
        )
      setProblem(undefined)
      if (found.length > 1) return setSeveral(found)
      if (input.current !== null) input.current.value = ''
      await navigate({ to: `${PATHS[first.kind]}${first.id}` })
    } catch (error) {
      setProblem((error as Error).message)
    }
  }

  return (
    <search className="search">
      <form onSubmit={find}>
        <input
          ref={input}
          type="search"
          aria-label="Search by height, hash, address, token or validator"
          placeholder="Height, hash, address, token or validator"
          autoComplete="off"
          spellCheck={false}
          onChange={() => {
            setProblem(undefined)
            setSeveral([])
          }}
        />
        {problem !== undefined && <p role="alert">{problem}</p>}
      </form>
      {several.length > 0 && (
        <ul className="found" aria-label="Search results">
          {several.map(({ kind, id, label }) => (
            <li key={`${kind} ${id}`}>
              <a href={`${PATHS[kind]}${id}`}>
                <span className="tag">{kind}</span> <span className="named">{label ?? ''}</span>{' '}
                <span className="mono quiet">{shorten(id, 14)}</span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </search>
  )
}
