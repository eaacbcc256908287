/* Adds to pages that are complete without it: buttons that copy code, and the search. */

const root = new URL(document.documentElement.dataset.root, location.href)

/** Samples name the service that shows them. */
for (const shown of document.querySelectorAll('[data-base]')) shown.textContent = root.href.replace(/\/$/, '')

const SHOWN_MS = 2_000

/**
 * Copies text. A browser has a clipboard only where the page came over TLS or from this machine, and may refuse it: then
 * the text is selected too.
 */
const copy = async (code) => {
  try {
    await navigator.clipboard.writeText(code.textContent)
  } catch {
    getSelection().selectAllChildren(code)
    document.execCommand('copy')
  }
}

for (const code of document.querySelectorAll('.code code')) {
  const button = document.createElement('button')
  button.className = 'copy'
  button.type = 'button'
  button.textContent = 'Copy'
  button.setAttribute('aria-live', 'polite')
  button.addEventListener('click', async () => {
    await copy(code)
    button.textContent = 'Copied'
    button.classList.add('done')
    setTimeout(() => {
      button.textContent = 'Copy'
      button.classList.remove('done')
    }, SHOWN_MS)
  })
  code.parentElement.after(button)
}

const search = document.querySelector('search')
const input = search.querySelector('input')
const results = search.querySelector('.results')
const [state, list] = results.children
search.hidden = false

/** Most results that are shown. */
const MOST = 12

/** Characters before and after a word that is found in a text. */
const [BEFORE, AFTER] = [50, 110]

let entries

/** Loads what can be found, once; again after a failure. */
const load = () => {
  entries ??= fetch(new URL('v1/docs/search.json', root))
    .then((response) => response.json())
    .then((all) =>
      all.map((entry) => ({
        ...entry,
        titles: entry.title.toLowerCase(),
        places: entry.place.toLowerCase(),
        words: ` ${entry.text.toLowerCase()}`,
      })),
    )
    .catch((error) => {
      entries = undefined
      throw error
    })
  return entries
}

/** How well a word matches an entry: better in its title than in its text; 0 where it has none. */
const scoreOf = ({ titles, places, words }, word) => {
  if (titles === word) return 20
  if (titles.startsWith(word)) return 12
  if (titles.includes(` ${word}`)) return 9
  if (titles.includes(word)) return 5
  if (places.includes(word)) return 4
  return words.includes(` ${word}`) ? 2 : words.includes(word) ? 1 : 0
}

const find = (all, query) => {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const scored = all.flatMap((entry) => {
    const scores = words.map((word) => scoreOf(entry, word))
    const whole = entry.titles === words.join(' ') ? 30 : 0
    return scores.includes(0) ? [] : [{ entry, score: whole + scores.reduce((sum, it) => sum + it, 0) }]
  })
  return scored.sort((a, b) => b.score - a.score).map(({ entry }) => entry)
}

/** The part of a text around a word. */
const excerpt = (text, word) => {
  const at = Math.max(text.toLowerCase().indexOf(word), 0)
  const from = at <= BEFORE ? 0 : text.indexOf(' ', at - BEFORE) + 1
  const part = text.slice(from, at + AFTER)
  return `${from > 0 ? '… ' : ''}${part}${at + AFTER < text.length ? ' …' : ''}`
}

const part = (name, text, className) => {
  const element = document.createElement(name)
  element.textContent = text
  if (className !== undefined) element.className = className
  return element
}

const itemOf = ({ title, place, url, text }, word) => {
  const link = document.createElement('a')
  link.href = new URL(url, root)
  link.append(part('strong', title), part('small', place, 'place'), part('small', excerpt(text, word)))
  const item = document.createElement('li')
  item.append(link)
  return item
}

const close = () => {
  results.hidden = true
}

const show = async () => {
  const query = input.value.trim()
  if (query === '') return close()
  results.hidden = false
  try {
    const found = find(await load(), query)
    // The text changed while the entries were loaded.
    if (query !== input.value.trim()) return
    state.textContent = found.length === 0 ? `Nothing found for ${query}` : `${found.length} found`
    const [word] = query.toLowerCase().split(/\s+/)
    list.replaceChildren(...found.slice(0, MOST).map((entry) => itemOf(entry, word)))
  } catch {
    state.textContent = 'The search cannot be loaded'
  }
}

/** Moves the focus between the field and the results. */
const move = (step) => {
  const all = [input, ...list.querySelectorAll('a')]
  all[Math.min(Math.max(all.indexOf(document.activeElement) + step, 0), all.length - 1)].focus()
}

const keys = {
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  Escape: () => {
    input.value = ''
    close()
    input.focus()
  },
}

input.addEventListener('input', show)
input.addEventListener('focus', () => {
  load().catch(() => {})
  show()
})
search.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && document.activeElement === input) list.querySelector('a')?.click()
  else if (keys[event.key] === undefined || results.hidden) return
  else keys[event.key]()
  event.preventDefault()
})
search.addEventListener('focusout', ({ relatedTarget }) => {
  if (!search.contains(relatedTarget)) close()
})
// A link may lead to another part of the same page.
list.addEventListener('click', close)

document.addEventListener('keydown', (event) => {
  const isTyping = event.target.closest('input, textarea, select') !== null
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  input.focus()
  input.select()
})
