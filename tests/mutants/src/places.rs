//! Where in a file its mutants stand.

use std::collections::{BTreeMap, HashMap};

use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::Mutant;

/// How a switch stands in the text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// Other expressions in place of one.
    Expression,
    /// Early returns, where a function's body begins.
    Return,
    /// A guard after the pattern of an arm.
    Guard,
}

/// A stretch of the file, in bytes, and what each mutant puts there.
pub struct Place {
    pub start: usize,
    pub end: usize,
    pub form: Form,
    pub mutants: Vec<(u32, String)>,
}

/// What is known of a file's mutants.
pub struct Found {
    pub places: Vec<Place>,
    pub alone: Vec<u32>,
    pub unviable: Vec<u32>,
}

/// Finds every mutant in `text`; panics where one has no place, since then the list is of another text.
pub fn find(text: &str, mutants: &[Mutant]) -> Found {
    let file = syn::parse_file(text).expect("the file is Rust");
    let mut wanted: HashMap<_, Vec<&Mutant>> = HashMap::new();
    for mutant in mutants {
        wanted
            .entry((mutant.genre.as_str(), mutant.start))
            .or_default()
            .push(mutant);
    }
    let mut finder = Finder {
        wanted,
        constants: 0,
        places: BTreeMap::new(),
        alone: Vec::new(),
        unviable: Vec::new(),
    };
    finder.visit_file(&file);
    let lost: Vec<u32> = (finder.wanted.values().flatten())
        .map(|mutant| mutant.number)
        .collect();
    assert!(lost.is_empty(), "mutants without a place: {lost:?}");
    let places = finder
        .places
        .into_iter()
        .map(|((start, end, form), mutants)| Place {
            start,
            end,
            form,
            mutants,
        })
        .collect();
    Found {
        places,
        alone: finder.alone,
        unviable: finder.unviable,
    }
}

struct Finder<'m> {
    /// Mutants not found yet, by genre and beginning.
    wanted: HashMap<(&'m str, (usize, usize)), Vec<&'m Mutant>>,
    /// How many constants surround what is visited.
    constants: usize,
    places: BTreeMap<(usize, usize, Form), Vec<(u32, String)>>,
    /// Those of what is evaluated as the crate is compiled, and of bodies that alone decide what type they return.
    alone: Vec<u32>,
    unviable: Vec<u32>,
}

impl<'m> Finder<'m> {
    /// The mutants of this genre that begin where `spanned` does, without those of constants.
    fn take(&mut self, genre: &'static str, spanned: &impl Spanned) -> Vec<&'m Mutant> {
        let start = spanned.span().start();
        let found = self
            .wanted
            .remove(&(genre, (start.line, start.column + 1)))
            .unwrap_or_default();
        if self.constants > 0 {
            self.alone.extend(found.iter().map(|mutant| mutant.number));
            return Vec::new();
        }
        found
    }

    fn add(&mut self, bytes: std::ops::Range<usize>, form: Form, number: u32, code: String) {
        let key = (bytes.start, bytes.end, form);
        self.places.entry(key).or_default().push((number, code));
    }

    fn instead(&mut self, of: &impl Spanned, number: u32, code: String) {
        self.add(of.span().byte_range(), Form::Expression, number, code);
    }

    fn body(
        &mut self,
        signature: &syn::Signature,
        block: &syn::Block,
        visit: impl FnOnce(&mut Self),
    ) {
        let constant = usize::from(signature.constness.is_some());
        self.constants += constant;
        if let Some(first) = block.stmts.first() {
            let mut output = Opaque(false);
            output.visit_return_type(&signature.output);
            let after_brace = block.brace_token.span.open().byte_range().end;
            for mutant in self.take("FnValue", first) {
                if output.0 {
                    self.alone.push(mutant.number);
                } else {
                    let value = mutant.replacement.clone();
                    self.add(after_brace..after_brace, Form::Return, mutant.number, value);
                }
            }
        }
        visit(self);
        self.constants -= constant;
    }

    fn constant(&mut self, visit: impl FnOnce(&mut Self)) {
        self.constants += 1;
        visit(self);
        self.constants -= 1;
    }
}

/// Whether an `impl Trait` stands in a type.
struct Opaque(bool);

impl<'ast> Visit<'ast> for Opaque {
    fn visit_type_impl_trait(&mut self, _: &'ast syn::TypeImplTrait) {
        self.0 = true;
    }
}

/// Whether a chain of conditions binds names, so that it is no expression that stands alone.
fn binds(expression: &syn::Expr) -> bool {
    match expression {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(binary) => binds(&binary.left) || binds(&binary.right),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        self.body(&node.sig, &node.block, |v| visit::visit_item_fn(v, node));
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        self.body(&node.sig, &node.block, |v| {
            visit::visit_impl_item_fn(v, node)
        });
    }

    fn visit_trait_item_fn(&mut self, node: &'ast syn::TraitItemFn) {
        match &node.default {
            Some(block) => self.body(&node.sig, block, |v| visit::visit_trait_item_fn(v, node)),
            None => visit::visit_trait_item_fn(self, node),
        }
    }

    fn visit_item_const(&mut self, node: &'ast syn::ItemConst) {
        self.constant(|v| visit::visit_item_const(v, node));
    }

    fn visit_item_static(&mut self, node: &'ast syn::ItemStatic) {
        self.constant(|v| visit::visit_item_static(v, node));
    }

    fn visit_impl_item_const(&mut self, node: &'ast syn::ImplItemConst) {
        self.constant(|v| visit::visit_impl_item_const(v, node));
    }

    fn visit_trait_item_const(&mut self, node: &'ast syn::TraitItemConst) {
        self.constant(|v| visit::visit_trait_item_const(v, node));
    }

    fn visit_expr_const(&mut self, node: &'ast syn::ExprConst) {
        self.constant(|v| visit::visit_expr_const(v, node));
    }

    fn visit_variant(&mut self, node: &'ast syn::Variant) {
        self.constant(|v| visit::visit_variant(v, node));
    }

    fn visit_type(&mut self, node: &'ast syn::Type) {
        self.constant(|v| visit::visit_type(v, node));
    }

    fn visit_generic_argument(&mut self, node: &'ast syn::GenericArgument) {
        self.constant(|v| visit::visit_generic_argument(v, node));
    }

    fn visit_pat(&mut self, node: &'ast syn::Pat) {
        self.constant(|v| visit::visit_pat(v, node));
    }

    fn visit_expr_repeat(&mut self, node: &'ast syn::ExprRepeat) {
        self.visit_expr(&node.expr);
        self.constant(|v| v.visit_expr(&node.len));
    }

    fn visit_expr_binary(&mut self, node: &'ast syn::ExprBinary) {
        let (left, right) = (&node.left, &node.right);
        for mutant in self.take("BinaryOperator", &node.op) {
            if binds(left) || binds(right) {
                self.unviable.push(mutant.number);
                continue;
            }
            let op: syn::BinOp = syn::parse_str(&mutant.replacement).expect("a binary operator");
            self.instead(
                node,
                mutant.number,
                quote!((#left) #op (#right)).to_string(),
            );
        }
        visit::visit_expr_binary(self, node);
    }

    fn visit_expr_unary(&mut self, node: &'ast syn::ExprUnary) {
        for mutant in self.take("UnaryOperator", &node.op) {
            self.instead(node, mutant.number, node.expr.to_token_stream().to_string());
        }
        visit::visit_expr_unary(self, node);
    }

    fn visit_arm(&mut self, node: &'ast syn::Arm) {
        if let Some((_, guard)) = &node.guard {
            for mutant in self.take("MatchArmGuard", &**guard) {
                if binds(guard) {
                    self.unviable.push(mutant.number);
                } else {
                    self.instead(&**guard, mutant.number, mutant.replacement.clone());
                }
            }
        }
        visit::visit_arm(self, node);
    }

    fn visit_expr_match(&mut self, node: &'ast syn::ExprMatch) {
        // Arms with guards cover nothing in the compiler's eyes: without an arm for the rest, none may have one.
        let rest = |arm: &syn::Arm| matches!(arm.pat, syn::Pat::Wild(_)) && arm.guard.is_none();
        let is_covered = node.arms.iter().any(rest);
        for arm in &node.arms {
            for mutant in self.take("MatchArm", arm) {
                if is_covered {
                    let end = arm.pat.span().byte_range().end;
                    self.add(end..end, Form::Guard, mutant.number, String::new());
                } else {
                    self.alone.push(mutant.number);
                }
            }
        }
        visit::visit_expr_match(self, node);
    }

    fn visit_expr_struct(&mut self, node: &'ast syn::ExprStruct) {
        for field in &node.fields {
            for mutant in self.take("StructField", field) {
                let mut without = node.clone();
                without.fields = (node.fields.iter())
                    .filter(|other| other.member != field.member)
                    .cloned()
                    .collect();
                if !without.fields.is_empty() {
                    without.fields.push_punct(Default::default());
                }
                self.instead(node, mutant.number, without.to_token_stream().to_string());
            }
        }
        visit::visit_expr_struct(self, node);
    }
}
