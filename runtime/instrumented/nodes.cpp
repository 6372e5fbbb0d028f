// Lists and trees of the C++ library: the functions that its headers leave to the shared library, written anew so that
// they are instrumented as the program is. The nodes are the library's own.
//
// A tree hangs from a header: its parent is the root, its left and right are the first and the last node, and it is
// red, which no root is. Insertion and removal are those of red-black trees in any textbook, for both sides at once:
// `left` and `right` are the members that stand for them.
#include <list>
#include <map>
#include <utility>

namespace std {
namespace __detail {

void _List_node_base::_M_hook(_List_node_base* const position) noexcept {
  _M_next = position;
  _M_prev = position->_M_prev;
  position->_M_prev->_M_next = this;
  position->_M_prev = this;
}

void _List_node_base::_M_unhook() noexcept {
  _List_node_base *const next = _M_next, *const previous = _M_prev;
  previous->_M_next = next;
  next->_M_prev = previous;
}

void _List_node_base::_M_transfer(_List_node_base* const first, _List_node_base* const last) noexcept {
  if (this == last) return;
  last->_M_prev->_M_next = this;
  first->_M_prev->_M_next = last;
  _M_prev->_M_next = first;
  _List_node_base* const before = _M_prev;
  _M_prev = last->_M_prev;
  last->_M_prev = first->_M_prev;
  first->_M_prev = before;
}

void _List_node_base::_M_reverse() noexcept {
  _List_node_base* node = this;
  do {
    _List_node_base* const next = node->_M_next;
    node->_M_next = node->_M_prev;
    node->_M_prev = next;
    node = next;
  } while (node != this);
}

void _List_node_base::swap(_List_node_base& x, _List_node_base& y) noexcept {
  const bool x_empty = x._M_next == &x, y_empty = y._M_next == &y;
  std::swap(x._M_next, y._M_next);
  std::swap(x._M_prev, y._M_prev);
  if (y_empty) x._M_next = x._M_prev = &x;
  if (x_empty) y._M_next = y._M_prev = &y;
  if (!y_empty) x._M_next->_M_prev = x._M_prev->_M_next = &x;
  if (!x_empty) y._M_next->_M_prev = y._M_prev->_M_next = &y;
}

}  // namespace __detail

namespace {

using Node = _Rb_tree_node_base;
using Side = Node* Node::*;

Node* furthest(Node* node, Side side) {
  while (node->*side != nullptr) node = node->*side;
  return node;
}

Node* next(Node* node) {
  if (node->_M_right != nullptr) return furthest(node->_M_right, &Node::_M_left);
  Node* parent = node->_M_parent;
  while (node == parent->_M_right) {
    node = parent;
    parent = parent->_M_parent;
  }
  return node->_M_right != parent ? parent : node;  // from the last one, whose tree is its root alone, to the header
}

Node* previous(Node* node) {
  if (node->_M_color == _S_red && node->_M_parent->_M_parent == node) return node->_M_right;  // of the header
  if (node->_M_left != nullptr) return furthest(node->_M_left, &Node::_M_right);
  Node* parent = node->_M_parent;
  while (node == parent->_M_left) {
    node = parent;
    parent = parent->_M_parent;
  }
  return parent;
}

// Puts another node, or none, where one hangs.
void hang(Node* old, Node* fresh, Node*& root) {
  Node* const parent = old->_M_parent;
  if (old == root) {
    root = fresh;
  } else if (old == parent->_M_left) {
    parent->_M_left = fresh;
  } else {
    parent->_M_right = fresh;
  }
  if (fresh != nullptr) fresh->_M_parent = parent;
}

// The child on the right comes up, the node goes down to the left of it.
void rotate(Node* node, Node*& root, Side left, Side right) {
  Node* const child = node->*right;
  node->*right = child->*left;
  if (child->*left != nullptr) (child->*left)->_M_parent = node;
  hang(node, child, root);
  child->*left = node;
  node->_M_parent = child;
}

bool is_black(const Node* node) { return node == nullptr || node->_M_color == _S_black; }

}  // namespace

Node* _Rb_tree_increment(Node* node) noexcept { return next(node); }
const Node* _Rb_tree_increment(const Node* node) noexcept { return next(const_cast<Node*>(node)); }
Node* _Rb_tree_decrement(Node* node) noexcept { return previous(node); }
const Node* _Rb_tree_decrement(const Node* node) noexcept { return previous(const_cast<Node*>(node)); }

void _Rb_tree_insert_and_rebalance(const bool on_left, Node* node, Node* parent, Node& header) noexcept {
  Node*& root = header._M_parent;
  node->_M_parent = parent;
  node->_M_left = node->_M_right = nullptr;
  node->_M_color = _S_red;
  if (on_left) {
    parent->_M_left = node;  // of the header, where the tree is empty: the first node
    if (parent == &header) {
      header._M_parent = header._M_right = node;
    } else if (parent == header._M_left) {
      header._M_left = node;
    }
  } else {
    parent->_M_right = node;
    if (parent == header._M_right) header._M_right = node;
  }
  while (node != root && node->_M_parent->_M_color == _S_red) {
    Node* const grandparent = node->_M_parent->_M_parent;
    const bool left_side = node->_M_parent == grandparent->_M_left;
    const Side left = left_side ? &Node::_M_left : &Node::_M_right;
    const Side right = left_side ? &Node::_M_right : &Node::_M_left;
    Node* const uncle = grandparent->*right;
    if (!is_black(uncle)) {
      node->_M_parent->_M_color = uncle->_M_color = _S_black;
      grandparent->_M_color = _S_red;
      node = grandparent;
      continue;
    }
    if (node == node->_M_parent->*right) {
      node = node->_M_parent;
      rotate(node, root, left, right);
    }
    node->_M_parent->_M_color = _S_black;
    grandparent->_M_color = _S_red;
    rotate(grandparent, root, right, left);
  }
  root->_M_color = _S_black;
}

Node* _Rb_tree_rebalance_for_erase(Node* const gone, Node& header) noexcept {
  Node*& root = header._M_parent;
  Node* fill = nullptr;    // what comes where a node was taken out
  Node* parent = nullptr;  // above it
  _Rb_tree_color taken = gone->_M_color;
  if (gone->_M_left != nullptr && gone->_M_right != nullptr) {  // its successor takes its place
    Node* const heir = furthest(gone->_M_right, &Node::_M_left);
    fill = heir->_M_right;
    taken = heir->_M_color;
    parent = heir;
    if (heir != gone->_M_right) {
      parent = heir->_M_parent;
      hang(heir, fill, root);
      heir->_M_right = gone->_M_right;
      heir->_M_right->_M_parent = heir;
    }
    hang(gone, heir, root);
    heir->_M_left = gone->_M_left;
    heir->_M_left->_M_parent = heir;
    heir->_M_color = gone->_M_color;
  } else {
    fill = gone->_M_left != nullptr ? gone->_M_left : gone->_M_right;
    parent = gone->_M_parent;
    hang(gone, fill, root);
    if (header._M_left == gone) header._M_left = fill == nullptr ? parent : furthest(fill, &Node::_M_left);
    if (header._M_right == gone) header._M_right = fill == nullptr ? parent : furthest(fill, &Node::_M_right);
  }
  if (taken == _S_red) return gone;
  while (fill != root && is_black(fill)) {
    const bool left_side = fill == parent->_M_left;
    const Side left = left_side ? &Node::_M_left : &Node::_M_right;
    const Side right = left_side ? &Node::_M_right : &Node::_M_left;
    Node* sibling = parent->*right;
    if (!is_black(sibling)) {
      sibling->_M_color = _S_black;
      parent->_M_color = _S_red;
      rotate(parent, root, left, right);
      sibling = parent->*right;
    }
    if (is_black(sibling->_M_left) && is_black(sibling->_M_right)) {
      sibling->_M_color = _S_red;
      fill = parent;
      parent = parent->_M_parent;
      continue;
    }
    if (is_black(sibling->*right)) {
      (sibling->*left)->_M_color = _S_black;
      sibling->_M_color = _S_red;
      rotate(sibling, root, right, left);
      sibling = parent->*right;
    }
    sibling->_M_color = parent->_M_color;
    parent->_M_color = _S_black;
    (sibling->*right)->_M_color = _S_black;
    rotate(parent, root, left, right);
    break;
  }
  if (fill != nullptr) fill->_M_color = _S_black;
  return gone;
}

}  // namespace std
